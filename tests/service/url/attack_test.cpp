// What a stranger can write into a URL to cost time or memory, or to be taken for somebody else.
#include <gtest/gtest.h>
#include <chrono>
#include <service/url/path.hpp>
#include <service/url/resize_options.hpp>
#include <service/url/signature.hpp>
#include <service/url/source.hpp>
#include <tests/service/url/cases.hpp>

namespace framewire::service::url::test {
namespace {

using Clock = std::chrono::steady_clock;

// Far above what linear time takes, far below what quadratic time would.
constexpr auto kLinear = std::chrono::milliseconds(500);

std::string repeat(std::string_view text, std::size_t bytes) {
  std::string out;
  while (out.size() + text.size() <= bytes) out += text;
  return out;
}

TEST(UrlAttack, OneSignatureHasOneSpelling) {
  const std::vector<std::uint8_t> key = {1};
  const UrlSettings settings{.keys = {"01"}, .salts = {"02"}};
  const std::string path = "/plain/http://images.test/a.jpg";
  const std::vector<std::uint8_t> salt = {2};
  const std::string right = *sign(path, key, salt, 32);
  ASSERT_EQ(outcome(parse("/" + right + path, settings)), "ok");
  int refused = 0;
  for (int i = 0; i < 256; ++i) {
    // The last character has two spare bits, so that four characters decode alike.
    std::string other = right;
    other.back() = static_cast<char>(i);
    if (other == right || i == '/' || i == '?') continue;
    EXPECT_EQ(outcome(parse("/" + other + path, settings)), "signature") << i;
    ++refused;
  }
  EXPECT_EQ(refused, 253);
  for (const std::string& other : {right + "=", right + "A", "=" + right, right.substr(1),
                                   right.substr(0, 42), right + '\0', " " + right, right + "%3D"}) {
    EXPECT_EQ(outcome(parse("/" + other + path, settings)), "signature") << other;
  }
}

TEST(UrlAttack, NumbersThatAreNone) {
  for (const char* text : {"nan", "NaN", "inf", "-inf", "Infinity", "+Inf", "1e999", "-1e999",
                           "0x1p99999", "nan(1)", "0xinf", "1e-999999999999"}) {
    const std::string value(text);
    for (const std::string& options :
         {"dpr:" + value, "bl:" + value, "sh:" + value, "z:1:" + value, "c:" + value,
          "c:1:" + value, "g:no:" + value, "g:fp:0.5:" + value, "ex:1:no:0:" + value, "wm:" + value,
          "wm:1:ce:" + value, "wm:1:ce:0:0:" + value, "t:" + value, "w:" + value, "pd:" + value,
          "q:" + value, "exp:" + value}) {
      EXPECT_EQ(outcome(parse_options(options)), "invalid_argument") << options;
    }
  }
}

TEST(UrlAttack, NumbersThatOverflow) {
  const std::string digits(20000, '9');
  for (const char* name :
       {"w", "h", "mw", "pd", "q", "rot", "mb", "exp", "pix", "dpr", "c", "sh"}) {
    for (const std::string& value : {digits, "-" + digits}) {
      EXPECT_EQ(outcome(parse_options(name + (":" + value))), "invalid_argument") << name;
    }
  }
  EXPECT_EQ(outcome(parse_options("w:2147483648")), "invalid_argument");
  EXPECT_EQ(outcome(parse_options("w:2147483647")), "ok");
}

TEST(UrlAttack, FilenamesThatSplitHeaders) {
  // In base64: CR LF, NUL, DEL, U+0085, a lone continuation byte, an overlong slash.
  for (const char* name : {"YQ0KWDogMQ", "YQBi", "YX9i", "YcKFYg", "YYBi", "YcCvYg"}) {
    EXPECT_EQ(outcome(parse_options("fn:" + std::string(name) + ":1")), "invalid_argument") << name;
  }
  EXPECT_EQ(outcome(parse_options("fn:a\r\nX-Evil")), "invalid_argument");
  EXPECT_EQ(outcome(parse_options("fn:" + std::string(255, 'a'))), "ok");
  EXPECT_EQ(outcome(parse_options("fn:" + std::string(256, 'a'))), "invalid_argument");
  EXPECT_EQ(outcome(parse_options("fn:!:1")), "invalid_argument");
}

TEST(UrlAttack, SourcesWithControlCharacters) {
  for (const char* escape : {"%00", "%0A", "%0d", "%1b", "%7F", "%09"}) {
    const std::string url = "plain/http://images.test/a" + std::string(escape) + ".jpg";
    EXPECT_EQ(outcome(parse("/unsafe/" + url)), "invalid_url") << escape;
  }
  EXPECT_EQ(outcome(parse("/unsafe/aHR0cDovL2ltYWdlcy50ZXN0L2EALmpwZw")), "invalid_url");
  // Decoded once: what is left is text, for the source's own rules.
  EXPECT_EQ(parse("/unsafe/plain/http://images.test/a%2500.jpg")->source_url,
            "http://images.test/a%00.jpg");
}

TEST(UrlAttack, MessagesShowNoControlCharacters) {
  for (const std::string& target :
       {std::string("/u/w:\x1b[2J\n\x80/plain/a"), std::string("/u/\r\n\x01:1/plain/a"),
        "/u/" + std::string(60000, 'x') + ":1/plain/a", std::string("/u/w:\0/plain/a", 14)}) {
    const auto parsed = parse(target);
    ASSERT_FALSE(parsed);
    EXPECT_LT(parsed.error().message.size(), 500u);
    EXPECT_LT(parsed.error().option.size(), 300u);
    for (const char c : parsed.error().message + parsed.error().option) {
      EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
    }
  }
}

TEST(UrlAttack, LongTargetsTakeLinearTime) {
  const std::size_t room = kMaxTargetBytes - 100;
  const std::string source = "/plain/http://images.test/a.jpg";
  const std::string many = repeat("a", 60);
  const UrlSettings settings{.presets = {"a=w:1", "b=pr:a:a:a"},
                             .url_replacements = {"*a*a*a*a*a*a*a*b=x", "*" + many + "=y"}};
  const auto grammar = Grammar::make(settings);
  ASSERT_TRUE(grammar);
  const std::string targets[] = {
      "/u/" + repeat("w:1/", room) + "plain/a",
      "/u/" + repeat("cb:1/", room) + "plain/a",
      "/u/w" + repeat(":", room) + source,
      "/u/pr:" + repeat("a:", room) + "b" + source,
      "/u/pr" + repeat(":a", room) + source,
      "/u/" + repeat("pr:b/", room) + "plain/a",
      "/u/fq:" + repeat("jpg:1:", room) + "png:1" + source,
      "/u/skp" + repeat(":jpg", room) + source,
      "/u/" + repeat("%3A", room) + source,
      "/u/" + repeat("/", room),
      "/u/plain/" + repeat("@", room),
      "/u/plain/" + repeat("%41", room),
      "/u/plain/" + repeat("a", kMaxSourceUrlBytes),
      "/u/" + repeat("YWFh/", room),
      "/u/" + repeat(".", room),
      "/u/" + repeat("=", room),
      repeat("a", room),
      "/" + repeat("a", room) + "/" + source,
  };
  for (const std::string& target : targets) {
    ASSERT_LE(target.size(), kMaxTargetBytes);
    const auto start = Clock::now();
    (void)grammar->parse(target, {});
    EXPECT_LT(Clock::now() - start, kLinear) << target.substr(0, 40);
  }
}

TEST(UrlAttack, LongerTargetsAreNotLookedAt) {
  const std::string slashes(1'000'000, '/');
  EXPECT_EQ(outcome(parse(slashes)), "invalid_url");
  EXPECT_EQ(outcome(parse("/u/" + slashes)), "invalid_url");
  EXPECT_EQ(outcome(parse("/u/plain/a?" + std::string(kMaxTargetBytes, 'x'))), "invalid_url");
  EXPECT_EQ(outcome(parse("/u/plain/" + std::string(kMaxSourceUrlBytes, 'a'))), "ok");
  EXPECT_EQ(outcome(parse("/u/plain/" + std::string(kMaxSourceUrlBytes + 1, 'a'))), "invalid_url");
}

TEST(UrlAttack, ReplacementsDoNotGrowSourcesBeyondTheBound) {
  const UrlSettings settings{.url_replacements = {"*=${1}${1}${1}${1}${1}${1}${1}${1}",
                                                  "*=${1}${1}${1}${1}${1}${1}${1}${1}",
                                                  "*=${1}${1}${1}${1}${1}${1}${1}${1}"}};
  EXPECT_EQ(outcome(parse("/u/plain/" + std::string(16000, 'a'), settings)), "invalid_url");
  EXPECT_EQ(parse("/u/plain/a", settings)->source_url, std::string(512, 'a'));
}

TEST(UrlAttack, PresetsInCirclesEnd) {
  const UrlSettings settings{
      .presets = {"default=pr:a", "a=pr:b:c/w:1", "b=pr:a:c:b/h:2", "c=pr:a:b"}};
  const auto parsed = parse_options("pr:c:b:a/pr:default", settings);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->used_presets, (std::vector<std::string>{"default", "a", "b", "c"}));
  EXPECT_EQ(parsed->options.width, 1);
  EXPECT_EQ(parsed->options.height, 2);
}

TEST(UrlAttack, PresetsInLongChainsLeaveTheStack) {
  UrlSettings settings;
  for (int i = 0; i < 100'000; ++i) {
    settings.presets.push_back("p" + std::to_string(i) + "=w:1/pr:p" + std::to_string(i + 1));
  }
  settings.presets.push_back("p100000=w:2");
  const auto grammar = Grammar::make(settings);
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().subject(), "presets");
}

TEST(UrlAttack, RefusedOptionsDoNotHideInMetaOptions) {
  const UrlSettings settings{.presets = {"free=w:1/q:5"},
                             .allowed_processing_options = {"pr", "w"}};
  EXPECT_EQ(outcome(parse_options("rs:fit:1:1", settings)), "forbidden_option");
  EXPECT_EQ(outcome(parse_options("pr:free", settings)), "ok");
  EXPECT_EQ(outcome(parse_options("pr:free/q:1", settings)), "forbidden_option");
  EXPECT_EQ(outcome(parse("/u/free/q:1/plain/a", {.presets = {"free=w:1"}, .only_presets = true})),
            "invalid_url");
}

// Whether the options are accepted; then whatever follows from them makes sense.
bool answers(const Grammar& grammar, const std::string& options) {
  const auto parsed = grammar.parse("/u/" + options + "/plain/a", {});
  if (!parsed) return false;
  if (const auto made = to_resize_options(parsed->options, Limits{})) {
    EXPECT_TRUE(validate(*made)) << options;
  }
  const std::string text = canonical_text(*parsed);
  const auto again = grammar.parse("/u/" + text + "/plain/a", {});
  EXPECT_TRUE(again) << options << " is " << text << ": " << again.error().message;
  EXPECT_EQ(again ? canonical_text(*again) : "", text) << options;
  return true;
}

// Every combination of a few hostile arguments at every option: an answer, and no crash.
TEST(UrlAttack, HostileArgumentsEverywhere) {
  const char* names[] = {"rs",  "s",  "rt",   "w",   "h",   "mw",   "mh",  "z",    "dpr",
                         "el",  "ex", "exar", "g",   "c",   "pd",   "ar",  "rot",  "fl",
                         "t",   "bg", "bl",   "sh",  "pix", "wm",   "q",   "fq",   "mb",
                         "f",   "sm", "kcr",  "scp", "ph",  "eth",  "skp", "raw",  "cb",
                         "exp", "fn", "att",  "pr",  "msr", "msfs", "maf", "mafr", "mrd"};
  const char* values[] = {"",   "0",  "-1",   "1e308", "4294967296", "0.5",
                          "fp", "sm", "\xff", "jpg",   "1"};
  const auto grammar = Grammar::make({.allow_security_options = true});
  ASSERT_TRUE(grammar);
  int accepted = 0;
  for (const std::string name : names) {
    for (const std::string first : values) {
      for (const std::string second : values) {
        for (const std::string& more : {std::string(), ":" + second, ":" + second + ":" + first}) {
          accepted += answers(*grammar, name + ":" + first + more) ? 1 : 0;
        }
      }
    }
  }
  EXPECT_GT(accepted, 500);
}

}  // namespace
}  // namespace framewire::service::url::test
