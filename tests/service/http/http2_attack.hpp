// What attacks over HTTP/2 share.
#pragma once

#include <gtest/gtest.h>
#include <tests/service/http/http2_client.hpp>
#include <tests/service/http/tls_server.hpp>

namespace framewire::service::http::test {

/// Nothing of the attack is left, and others are answered.
inline void expect_still_serving(TlsServer& server) {
  EXPECT_TRUE(server.server.idle());
  EXPECT_EQ(Http2Client(server.endpoint()).ask(get_fields("/livez")).status, 200);
}

}  // namespace framewire::service::http::test
