"""An object store on loopback, moto, with buckets to write to: prints its port, and ends with its
standard input."""

import sys

import boto3
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
server.start()
host, port = server.get_host_and_port()
client = boto3.client("s3", endpoint_url=f"http://127.0.0.1:{port}", region_name="us-east-1",
                      aws_access_key_id="key", aws_secret_access_key="secret")
for bucket in ("photos", "thumbs"):
    client.create_bucket(Bucket=bucket)
print(port, flush=True)
sys.stdin.read()
