// Sockets and originals for which no descriptor is left: busy, as everywhere, since that passes.
#include <gtest/gtest.h>
#include <service/http/listener.hpp>
#include <service/local/socket_file.hpp>
#include <service/source/file_root.hpp>
#include <tests/support/no_descriptors.hpp>

namespace framewire::service::http::test {
namespace {

TEST(ServiceShortage, OfDescriptorsIsBusy) {
  const auto root = source::FileRoot::open("/");
  ASSERT_TRUE(root) << root.error().to_string();
  const auto endpoint = parse_endpoint("127.0.0.1:0");
  ASSERT_TRUE(endpoint);
  const framewire::test::NoDescriptors none;
  const auto listener = open_listener(*endpoint);
  ASSERT_FALSE(listener);
  EXPECT_EQ(listener.error().code(), StatusCode::kBusy) << listener.error().to_string();
  const auto local = local::SocketFile::listen("/tmp/framewire-shortage-test", 0600);
  ASSERT_FALSE(local);
  EXPECT_EQ(local.error().code(), StatusCode::kBusy) << local.error().to_string();
  const auto file = root->open_file("/etc/passwd");
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind, source::FetchErrorKind::kBusy) << file.error().message;
  const auto folder = source::FileRoot::open("/");
  ASSERT_FALSE(folder);
  EXPECT_EQ(folder.error().code(), StatusCode::kBusy) << folder.error().to_string();
}

}  // namespace
}  // namespace framewire::service::http::test
