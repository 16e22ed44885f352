// What TCP sockets say where the system refuses them.
#include <gtest/gtest.h>
#include <transport/wire/socket.hpp>

namespace framewire::transport::wire {
namespace {

TEST(WireSockets, SayWhyTheyCannotBeHad) {
  Address address{"127.0.0.1", 0};
  auto listener = listen_on(address);
  ASSERT_TRUE(listener) << listener.error().to_string();
  address.port = port_of(*listener);
  const auto second = listen_on(address);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kIoError);
  EXPECT_NE(second.error().message().find("Address already in use"), std::string::npos)
      << second.error().message();
  listener->reset();
  const auto nobody = connect_to(address, base::Clock::now() + std::chrono::seconds(30));
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().code(), StatusCode::kPeerLost);
  EXPECT_NE(nobody.error().message().find("Connection refused"), std::string::npos)
      << nobody.error().message();
}

}  // namespace
}  // namespace framewire::transport::wire
