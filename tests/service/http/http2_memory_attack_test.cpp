// Memory that runs out anywhere in a request of HTTP/2 costs at most its connection.
#include <gtest/gtest.h>
#include <tests/service/http/exhaust.hpp>
#include <tests/service/http/http2_client.hpp>
#include <tests/service/http/tls_server.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

void exhaust_by(TlsServer& server, const Fields& fields, const std::string& body) {
  const auto ask = [&] {
    Http2Client connection(server.endpoint());
    if (!connection.connected()) return Told();
    const Http2Answer answer = connection.ask(fields, body);
    return Told{answer.status, answer.body};
  };
  exhaust(server.server, ask, 60);
}

TEST(HttpHttp2MemoryAttack, EveryAllocationOfAPostFails) {
  TlsServer server(exhausted());
  const std::string jpeg = text_of(make_jpeg(32, 32));
  exhaust_by(server, post_fields("/v1/resize?size=16x", jpeg.size()), jpeg);
}

TEST(HttpHttp2MemoryAttack, EveryAllocationOfABodyWithoutALengthFails) {
  TlsServer server(exhausted());
  exhaust_by(server, get_fields("/v1/resize?size=16x", "POST"), text_of(make_jpeg(32, 32)));
}

TEST(HttpHttp2MemoryAttack, EveryAllocationOfAGetFails) {
  const service::test::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(32, 32)));
  ServiceSettings settings = exhausted();
  settings.source.root = folder.path().string();
  TlsServer server(settings);
  exhaust_by(server, get_fields("/unsafe/w:16/plain/a.jpg"), {});
}

}  // namespace
}  // namespace framewire::service::http::test
