"""OpenStack Swift with s3api on loopback: proxy, account, container and object server of one replica on a
folder, tempauth's user test:tester with the key testing, and two buckets. Prints the proxy's port, and ends with its
standard input. Run by a Python that has the package swift."""

import atexit
import ctypes
import hashlib
import hmac
import os
import shutil
import signal
import sys
import tempfile
import time
import urllib.request

from free_ports import free_ports
from swift.common import utils
from swift.common.ring import RingBuilder

SERVERS = ("object", "container", "account")
BUCKETS = ("photos", "thumbs")
PR_SET_PDEATHSIG = 1


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


def make_rings(folder, ports):
    for server in SERVERS:
        builder = RingBuilder(4, 1, 1)
        builder.add_dev({"id": 0, "region": 1, "zone": 1, "ip": "127.0.0.1", "port": ports[server],
                         "device": "d1", "weight": 1.0, "meta": "", "replication_ip": "127.0.0.1",
                         "replication_port": ports[server]})
        builder.rebalance(seed=1)
        builder.get_ring().save(os.path.join(folder, server + ".ring.gz"))


def make_settings(folder, ports):
    default = ("[DEFAULT]\nbind_ip = 127.0.0.1\nbind_port = %d\nworkers = 0\nswift_dir = " + folder +
               "\ndevices = " + folder + "/devices\nmount_check = false\nlog_level = CRITICAL\n"
               "log_address = /nowhere\ndisable_fallocate = true\nuser =\n")
    write(folder + "/swift.conf",
          "[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n"
          "[storage-policy:0]\nname = only\ndefault = yes\n")
    for server in SERVERS:
        write("%s/%s.conf" % (folder, server),
              default % ports[server] +
              "[pipeline:main]\npipeline = %s-server\n[app:%s-server]\nuse = egg:swift#%s\n"
              % (server, server, server))
    write(folder + "/proxy.conf",
          default % ports["proxy"] +
          "[pipeline:main]\npipeline = catch_errors cache listing_formats s3api tempauth bulk slo "
          "proxy-server\n"
          "[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n"
          "allow_account_management = true\n"
          "[filter:tempauth]\nuse = egg:swift#tempauth\nuser_test_tester = testing .admin\n"
          "[filter:s3api]\nuse = egg:swift#s3api\nmin_segment_size = 1\n"
          "[filter:cache]\nuse = egg:swift#memcache\nmemcache_servers = 127.0.0.1:%d\n"
          "error_suppression_limit = 1000000\n"
          % ports["nothing"] +
          "".join("[filter:%s]\nuse = egg:swift#%s\n" % (name, name)
                  for name in ("catch_errors", "listing_formats", "bulk", "slo")))


def serve(folder, server):
    import swift.common.wsgi
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # a test that is killed leaves none behind
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    errors = os.open("%s/%s.log" % (folder, server), os.O_WRONLY | os.O_CREAT, 0o600)
    os.dup2(errors, 1)
    os.dup2(errors, 2)
    os._exit(swift.common.wsgi.run_wsgi("%s/%s.conf" % (folder, server), server + "-server") or 0)


def is_up(port):
    try:
        with urllib.request.urlopen("http://127.0.0.1:%d/info" % port, timeout=2):
            return True
    except OSError:
        return False


def signed(key, *words):
    for word in words:
        key = hmac.new(key, word.encode(), hashlib.sha256).digest()
    return key


def make_bucket(port, bucket):
    """By S3's protocol: Swift's own keeps tokens in a memcached, which is not here."""
    host = "127.0.0.1:%d" % port
    now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    scope = "%s/us-east-1/s3/aws4_request" % now[:8]
    nothing = hashlib.sha256(b"").hexdigest()
    names = "host;x-amz-content-sha256;x-amz-date"
    request = "PUT\n/%s\n\nhost:%s\nx-amz-content-sha256:%s\nx-amz-date:%s\n\n%s\n%s" % (
        bucket, host, nothing, now, names, nothing)
    text = "AWS4-HMAC-SHA256\n%s\n%s\n%s" % (
        now, scope, hashlib.sha256(request.encode()).hexdigest())
    signature = signed(b"AWS4testing", now[:8], "us-east-1", "s3", "aws4_request", text).hex()
    urllib.request.urlopen(urllib.request.Request(
        "http://%s/%s" % (host, bucket), method="PUT", headers={
            "x-amz-content-sha256": nothing, "x-amz-date": now,
            "Authorization": "AWS4-HMAC-SHA256 Credential=test:tester/%s,SignedHeaders=%s,Signature=%s"
                             % (scope, names, signature)}), timeout=30).close()


def main():
    folder = tempfile.mkdtemp(prefix="framewire-swift-")
    os.mkdir(folder + "/devices")
    os.mkdir(folder + "/devices/d1")
    names = SERVERS + ("proxy", "nothing")
    ports = dict(zip(names, free_ports(len(names))))
    make_settings(folder, ports)
    utils.set_swift_dir(folder)
    make_rings(folder, ports)
    children = []

    def end():
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        shutil.rmtree(folder, ignore_errors=True)

    for server in SERVERS + ("proxy",):
        child = os.fork()
        if child == 0:
            serve(folder, server)
        children.append(child)
    atexit.register(end)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    deadline = time.monotonic() + 60
    while not is_up(ports["proxy"]):
        if time.monotonic() > deadline:
            for server in SERVERS + ("proxy",):
                with open("%s/%s.log" % (folder, server)) as log:
                    sys.stderr.write(server + ": " + log.read()[-2000:] + "\n")
            sys.exit("Swift does not answer")
        time.sleep(0.1)
    for bucket in BUCKETS:
        make_bucket(ports["proxy"], bucket)
    print(ports["proxy"], flush=True)
    sys.stdin.read()


main()
