// Settings, presets, replacements and the order of checks.
#include <gtest/gtest.h>
#include <cmath>
#include <fstream>
#include <service/url/option_state.hpp>
#include <service/url/path.hpp>
#include <service/url/signature.hpp>
#include <service/url/source.hpp>
#include <service/url/text.hpp>
#include <service/url/values.hpp>
#include <set>
#include <tests/service/url/cases.hpp>

namespace framewire::service::url::test {
namespace {

// The setting that keeps a server from starting, or "".
std::string fault(const UrlSettings& settings) {
  const auto grammar = Grammar::make(settings);
  if (grammar) return "";
  EXPECT_EQ(grammar.error().code(), StatusCode::kInvalidInput);
  EXPECT_FALSE(grammar.error().message().empty());
  return grammar.error().subject();
}

TEST(UrlSettings, ThatMakeNoSenseStopTheStart) {
  EXPECT_EQ(fault({}), "");
  EXPECT_EQ(fault({.keys = {"aa"}, .salts = {}}), "keys");
  EXPECT_EQ(fault({.keys = {}, .salts = {"aa"}}), "keys");
  EXPECT_EQ(fault({.keys = {"xx"}, .salts = {"aa"}}), "keys");
  EXPECT_EQ(fault({.keys = {""}, .salts = {"aa"}}), "keys");
  EXPECT_EQ(fault({.keys = {"aa"}, .salts = {"a"}}), "salts");
  EXPECT_EQ(fault({.signature_size = 33}), "signature-size");
  EXPECT_EQ(fault({.trusted_signatures = {""}}), "trusted-signatures");
  EXPECT_EQ(fault({.trusted_signatures = {"a/b"}}), "trusted-signatures");
  EXPECT_EQ(fault({.allowed_processing_options = {"w", "wdith"}}), "allowed-options");
  EXPECT_EQ(fault({.arguments_separator = ""}), "arguments-separator");
  EXPECT_EQ(fault({.arguments_separator = "/"}), "arguments-separator");
  EXPECT_EQ(fault({.url_replacements = {"no-equals"}}), "url-replacements");
  EXPECT_EQ(fault({.url_replacements = {"a*=b${2}"}}), "url-replacements");
  EXPECT_EQ(fault({.url_replacements = {"a*=b${0}"}}), "url-replacements");
  EXPECT_EQ(fault({.url_replacements = {"a*=b$1"}}), "url-replacements");
  EXPECT_EQ(fault({.url_replacements = {"a*=b${1"}}), "url-replacements");
  EXPECT_EQ(fault({.url_replacements = {"*********=b"}}), "url-replacements");
  EXPECT_EQ(fault({.path_prefix = "img"}), "path-prefix");
  EXPECT_EQ(fault({.path_prefix = "/img/"}), "path-prefix");
}

TEST(UrlSettings, PresetsAreCheckedAtTheStart) {
  EXPECT_EQ(fault({.presets = {"a=w:1/q:2", "b=pr:a"}}), "");
  for (const char* preset : {"a", "=w:1", "a=", "a=w", "a=w:x", "a=nope:1", "a=pr:none", "a/b=w:1",
                             "a:b=w:1", "a=w:1/", "a=msr:1", "a=q:101"}) {
    EXPECT_EQ(fault({.presets = {preset}}), "presets") << preset;
  }
  EXPECT_EQ(fault({.presets = {"a=w:1", "a=w:2"}}), "presets");
  EXPECT_EQ(fault({.presets = {"a=msr:1"}, .allow_security_options = true}), "");
  EXPECT_EQ(fault({.presets = {"a=exp:1"}}), "") << "no server fails to start as time goes by";
  EXPECT_EQ(outcome(parse_options("pr:a", {.presets = {"a=exp:1"}})), "expired");
}

TEST(UrlSettings, NeverRepeatSecrets) {
  const auto grammar = Grammar::make({.keys = {"deadbeefx"}, .salts = {"aa"}});
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().to_string().find("deadbeef"), std::string::npos);
}

TEST(UrlSettings, ListsHaveNoBlanksAndNothingEmpty) {
  EXPECT_EQ(split_list(" a=w:1 ,, b=h:1,", ","), (std::vector<std::string>{"a=w:1", "b=h:1"}));
}

TEST(UrlGrammar, ChecksTheSignatureFirst) {
  const UrlSettings settings{.keys = {"aa"}, .salts = {"bb"}};
  EXPECT_EQ(outcome(parse("/x/nope:1/plain/%zz", settings)), "signature");
  EXPECT_EQ(outcome(parse("/x/", settings)), "invalid_url");
  EXPECT_EQ(outcome(parse("/x/nope:1/plain/%zz")), "unknown_option");
  EXPECT_EQ(outcome(parse("/x/w:1/plain/%zz")), "invalid_url");
}

TEST(UrlGrammar, PutsRightWhatProxiesChange) {
  const auto signed_text = [](std::string_view path) { return repair_path(path, ":", false).text; };
  EXPECT_EQ(signed_text("/rs%3Afit%3A1/plain/http%3A//x"), "/rs:fit:1/plain/http%3A//x");
  EXPECT_EQ(signed_text("rs%3afit/plain/x"), "/rs%3afit/plain/x");
  EXPECT_EQ(signed_text("/w:1/plain/https:/x/y:/z"), "/w:1/plain/https://x/y:/z");
  EXPECT_EQ(signed_text("/plain/local:/x"), "/plain/local:///x");
  EXPECT_EQ(signed_text("/plain/local:///x"), "/plain/local:///x");
  EXPECT_EQ(signed_text("/plain/a b:/x"), "/plain/a b:/x");
  EXPECT_EQ(signed_text("/aHR0c:/x"), "/aHR0c:/x") << "an option, no source";
  const auto parsed = parse("/unsafe/s%3A100%3A50/plain/http:/images.test/a.jpg");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->options.width, 100);
  EXPECT_EQ(parsed->source_url, "http://images.test/a.jpg");
}

TEST(UrlGrammar, TakesPathPrefixesAsWholeSegments) {
  const UrlSettings settings{.path_prefix = "/img"};
  EXPECT_EQ(outcome(parse("/img/x/plain/a", settings)), "ok");
  EXPECT_EQ(outcome(parse("/image/x/plain/a", settings)), "invalid_url");
  EXPECT_EQ(outcome(parse("/x/plain/a", settings)), "invalid_url");
}

TEST(UrlGrammar, AnExtensionDoesNotMatterToRawSources) {
  const auto raw = parse("/unsafe/raw:1/plain/http://images.test/a.jpg@exe");
  ASSERT_TRUE(raw);
  EXPECT_EQ(raw->options.format, std::nullopt);
  EXPECT_EQ(parse("/unsafe/f:png/plain/a@jpg")->options.format, Format::kJpeg);
}

TEST(UrlGrammar, HintsCountOnlyWhereSettingsSaySo) {
  const ClientHints hints{.sec_ch_dpr = "2", .dpr = {}, .sec_ch_width = "x", .width = "301"};
  const auto parse_hinted = [&](bool enabled, const char* target) {
    const auto grammar = Grammar::make({.client_hints = enabled});
    return grammar->parse(target, {}, hints)->options;
  };
  EXPECT_EQ(parse_hinted(false, "/u/plain/a").dpr, std::nullopt);
  EXPECT_EQ(parse_hinted(true, "/u/plain/a").dpr, 2);
  EXPECT_EQ(parse_hinted(true, "/u/plain/a").width, 151);
  EXPECT_EQ(parse_hinted(true, "/u/w:7/plain/a").width, 7);
}

TEST(UrlReplacements, MatchAsLongAsCanBe) {
  const auto apply = [](const char* definition, const char* url) {
    const auto made = Replacement::make(definition);
    EXPECT_TRUE(made) << definition;
    return made ? made->apply(url) : "";
  };
  EXPECT_EQ(apply("a=b", "aab"), "bab");
  EXPECT_EQ(apply("a=b", "ba"), "ba") << "the head alone";
  EXPECT_EQ(apply("a*c=[${1}]", "abcbcd"), "[bcb]d");
  EXPECT_EQ(apply("a*c=[${1}]", "ab/c"), "ab/c");
  EXPECT_EQ(apply("*-*.x=${2}|${1}", "a-b-c.x.x/y"), "c.x|a-b/y");
  EXPECT_EQ(apply("**/=(${1})(${2})", "ab/c"), "(ab)()c");
  EXPECT_EQ(apply("*=${1}$$", "ab/c"), "ab$/c");
  EXPECT_EQ(apply("a*=x=y", "abc"), "x=y") << "the first = divides";
}

TEST(UrlValues, ReadNumbersAsGoDoes) {
  EXPECT_EQ(read_real("1.5"), 1.5);
  EXPECT_EQ(read_real("+.5"), 0.5);
  EXPECT_EQ(read_real("5."), 5);
  EXPECT_EQ(read_real("-2e1"), -20);
  EXPECT_EQ(read_real("0x1.8p1"), 3);
  EXPECT_EQ(read_real("-0X.8P0"), -0.5);
  EXPECT_FALSE(std::signbit(*read_real("-0")));
  for (const char* text :
       {"",    "+",        "-",   ".",   "--1",  "+-1",   "1e",  "0x1", "0x", "0xp1", "0x-1p1",
        "inf", "Infinity", "nan", "NaN", "-inf", "1e999", "1_0", "1 ",  " 1", "1,5",  "e5"}) {
    EXPECT_EQ(read_real(text), std::nullopt) << text;
  }
  EXPECT_EQ(read_integer("+007", 0, 10), 7);
  EXPECT_EQ(read_integer("-3", -5, 5), -3);
  for (const char* text : {"", "+", "-", "+-1", "-+1", "--1", "1.0", "0x1", " 1", "6"}) {
    EXPECT_EQ(read_integer(text, -5, 5), std::nullopt) << text;
  }
}

// The first cells of the table below "## Options" are the names, all of them and no others.
TEST(UrlDocs, TellOfEveryOption) {
  std::ifstream page(std::string(FRAMEWIRE_DOCS) + "/urls.md");
  std::set<std::string> told;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line.starts_with("## ")) inside = line == "## Options";
    if (!inside || !line.starts_with("| `")) continue;
    const std::string cell = line.substr(0, line.find('|', 1));
    const auto parts = split(cell, "`");
    for (std::size_t i = 1; i < parts.size(); i += 2) told.emplace(parts[i]);
  }
  std::set<std::string> known;
  for (const auto name : option_names()) known.emplace(name);
  EXPECT_EQ(told, known);
}

TEST(UrlSign, GivesWhatServersAccept) {
  const std::vector<std::uint8_t> key = {0xaa};
  const std::vector<std::uint8_t> salt = {0xbb};
  const std::string path = "/w:100/plain/http://images.test/a.jpg";
  for (const int size : {1, 2, 3, 31, 32}) {
    const auto signature = sign(path, key, salt, static_cast<std::size_t>(size));
    ASSERT_TRUE(signature);
    const UrlSettings settings{.keys = {"AA"}, .salts = {"bB"}, .signature_size = size};
    EXPECT_EQ(outcome(parse("/" + *signature + path, settings)), "ok") << size;
    EXPECT_EQ(outcome(parse("/" + *signature + path + "?v=1", settings)), "ok") << size;
    EXPECT_EQ(outcome(parse("/" + *signature + path + "g", settings)), "signature") << size;
  }
  EXPECT_FALSE(sign(path, key, salt, 0));
  EXPECT_FALSE(sign(path, key, salt, 33));
  EXPECT_FALSE(sign(path, {}, salt, 32));
}

}  // namespace
}  // namespace framewire::service::url::test
