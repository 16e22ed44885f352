// --cache-control-passthrough: what of an origin's word on caching reaches the client.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <charconv>
#include <ctime>
#include <service/http/freshness.hpp>
#include <tests/service/http/image_server.hpp>

namespace framewire::service::http::test {
namespace {

namespace scripted = service::test;

// Cache-Control of an answer whose origin sent these fields. @param options  of the URL
std::string control_of(const std::string& origin_fields, const std::string& options = "w:20") {
  ServiceSettings settings = loopback();
  settings.cache_control_passthrough = true;
  const ImageServer images(scripted::answering([&](const std::string&) {
                             return scripted::ok(text_of(make_jpeg(40, 30)), origin_fields);
                           }),
                           settings);
  const auto answer = images.ask("/unsafe/" + options + "/plain/http://images.test/a.jpg");
  return answer && answer->status == 200 ? answer->field("cache-control") : "no answer";
}

std::string date_in(std::time_t seconds) {
  const std::time_t moment = std::time(nullptr) + seconds;
  char text[64];
  (void)std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", std::gmtime(&moment));
  return text;
}

std::string expiring_in(std::time_t seconds) {
  return fmt::format("w:20/exp:{}", std::time(nullptr) + seconds);
}

// -1 where there is none.
long max_age_of(const std::string& control) {
  const auto at = control.find("max-age=");
  long seconds = -1;
  if (at != std::string::npos) {
    (void)std::from_chars(control.data() + at + 8, control.data() + control.size(), seconds);
  }
  return seconds;
}

TEST(HttpPassthrough, AnExpiresThatIsOverOrCannotBeReadIsStaleAtOnce) {
  for (const std::string& expires : {std::string("0"), std::string("-1"), std::string("soon"),
                                     std::string("Thu, 01 Jan 1970 00:00:00 GMT"), date_in(-5)}) {
    EXPECT_EQ(control_of("Expires: " + expires + "\r\n"), "no-cache") << expires;
    EXPECT_EQ(control_of("Cache-Control: private\r\nExpires: " + expires + "\r\n"),
              "private, max-age=0")
        << expires;
  }
}

TEST(HttpPassthrough, AnExpiresToComeBounds) {
  const long seconds = max_age_of(control_of("Expires: " + date_in(50) + "\r\n"));
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, 50);
}

TEST(HttpPassthrough, TheUrlsExpiryKeepsWhatTheOriginForbids) {
  EXPECT_EQ(control_of("Cache-Control: private, max-age=60\r\n", expiring_in(9000)),
            "private, max-age=60");
  EXPECT_TRUE(control_of("Cache-Control: no-store\r\n", expiring_in(9000)).starts_with("no-store"));
  EXPECT_TRUE(control_of("Cache-Control: no-cache\r\n", expiring_in(9000)).starts_with("no-cache"));
}

TEST(HttpPassthrough, TheUrlsExpiryOnlyShortens) {
  const long seconds = max_age_of(control_of("Cache-Control: max-age=600\r\n", expiring_in(90)));
  EXPECT_GT(seconds, 0);
  EXPECT_LE(seconds, 90);
  EXPECT_EQ(max_age_of(control_of("Cache-Control: max-age=60\r\n", expiring_in(9000))), 60);
  EXPECT_LE(max_age_of(control_of("Expires: " + date_in(60) + "\r\n", expiring_in(9000))), 60);
  EXPECT_LE(max_age_of(control_of("Cache-Control: max-age=60\r\nAge: 50\r\n", expiring_in(9000))),
            10)
      << "no Age goes with it";
}

TEST(HttpPassthrough, TimesAreReplacedAndAllElseStays) {
  EXPECT_EQ(with_lifetime("Max-Age = 60 ,private=\"a, max-age=7\\\"\", S-MAXAGE=5,, immutable", 3),
            "private=\"a, max-age=7\\\"\", max-age=3");
  EXPECT_EQ(with_lifetime("stale-while-revalidate=9", 0), "max-age=0");
  EXPECT_EQ(with_lifetime("private=\"never closed, max-age=1", 2),
            "private=\"never closed, max-age=1, max-age=2");
}

}  // namespace
}  // namespace framewire::service::http::test
