// What URLs ask of the library, and in which one spelling they are remembered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <algorithm>
#include <service/url/option_state.hpp>
#include <service/url/resize_options.hpp>
#include <set>
#include <tests/service/url/cases.hpp>

namespace framewire::service::url::test {
namespace {

// The library's options, those left out that a service has anyway.
std::string mapped(const std::string& options, const UrlSettings& settings = {}) {
  const auto parsed = parse_options(options, settings);
  if (!parsed) return outcome(parsed) + " " + parsed.error().option;
  auto made = to_resize_options(parsed->options, Limits{});
  if (!made) return outcome(made) + " " + made.error().option;
  EXPECT_TRUE(validate(*made)) << options << ": " << validate(*made).error().to_string();
  if (made->metadata == Metadata::kCopyright) made->metadata = Metadata::kStrip;
  return to_string(*made);
}

TEST(ResizeOptionsOfUrls, NameTheSameThings) {
  const std::pair<const char*, const char*> table[] = {
      {"mw:100/mh:50", "min-size=100x50"},
      {"z:2", "zoom=2"},
      {"z:2:0.5", "zoom=2x0.5"},
      {"dpr:20", "dpr=20"},
      {"w:70000", "size=70000x"},
      {"c:0.5:0.25", "crop=0.5x0.25"},
      {"c:10.9:0", "crop=10x"},
      {"c:9e9:5", "crop=1000000x5"},
      {"c:100:200:nowe:10:20", "crop=100x200 crop-gravity=nowe:10:20"},
      {"c:100:200:fp:0.25:1", "crop=100x200 crop-gravity=fp:0.25:1"},
      {"c:100:200:no/g:no", "crop=100x200 gravity=no"},
      {"rs:fill:10:10/c:100:200/g:fp:0.25:1",
       "size=10x10 resize=fill crop=100x200 crop-gravity=fp:0.25:1 gravity=fp:0.25:1"},
      {"w:10/c:100:200/g:fp:0.25:1", "size=10x crop=100x200 gravity=fp:0.25:1"},
      {"c:0:0:sm", ""},
      {"g:no::5", "gravity=no:0:5"},
      {"g:ce:10:10/g:no", "gravity=no:10:10"},
      {"g:ce:0.25:-0.5", "gravity=ce:0.25:-0.5"},
      {"ex:1", "extend=ce"},
      {"ex:1:so:10:20", "extend=so:10:20"},
      {"ex:1:fp:0.25:0.75", "extend=fp:0.25:0.75"},
      {"ex:1/ex:0", ""},
      {"exar:1:noea", "extend-aspect-ratio=noea"},
      {"rs:fill:300:200:0:1:no", "size=300x200 resize=fill extend=no"},
      {"pd:10:20:30", "padding=10,20,30,20"},
      {"pd:0", ""},
      {"bg:ff0000", ""},
      {"pd:1/bg:ff0000", "padding=1 background=ff0000"},
      {"ex:1/bg:1:2:3", "extend=ce background=010203"},
      {"rot:450", "rotate=90"},
      {"rot:720", ""},
      {"fl:1", "flip=h"},
      {"fl::1", "flip=v"},
      {"fl:1:1", "flip=hv"},
      {"sh:9.5", "sharpen=9.5"},
      {"sh:11", "sharpen=10"},
      {"sh:1e300", "sharpen=10"},
      {"q:0/fq:jpg:60", "quality=60"},
      {"q:70/fq:jpg:60", "quality=70"},
      {"sm:0", "metadata=keep"},
      {"scp:0", "color=keep"},
      {"ar:0", "no-auto-orient=true"},
      {"ph:1/eth:1/maf:5", "security_option max_animation_frames"},
      {"ph:1/eth:1/skp:jpg/raw:1", ""},
  };
  for (const auto& [url, library] : table) EXPECT_EQ(mapped(url), library) << url;
}

TEST(ResizeOptionsOfUrls, SayWhatIsNotDoneHere) {
  const std::pair<const char*, const char*> table[] = {{"f:png", "format"},
                                                       {"bl:0.1", "blur"},
                                                       {"pix:2", "pixelate"},
                                                       {"wm:0.5", "watermark"},
                                                       {"t:10", "trim"},
                                                       {"g:sm", "gravity"},
                                                       {"c:1:1:sm", "crop"},
                                                       {"w:1000001", "width"},
                                                       {"h:1000001", "height"},
                                                       {"mw:1000001", "min-width"},
                                                       {"mh:1000001", "min-height"},
                                                       {"z:1e-5", "zoom"},
                                                       {"z:1:1e6", "zoom"},
                                                       {"dpr:1e-5", "dpr"},
                                                       {"dpr:1e300", "dpr"},
                                                       {"pd:1000001", "padding"},
                                                       {"g:no:1e7", "gravity"},
                                                       {"ex:1:no:0:-1e7", "extend"}};
  for (const auto& [url, option] : table) {
    EXPECT_EQ(mapped(url), std::string("unsupported ") + option) << url;
  }
}

// The refusal as clients read it, or "ok".
std::string refusal(const std::string& options, const UrlSettings& settings) {
  const auto parsed = parse_options(options, settings);
  if (!parsed) return to_text(parsed.error());
  const auto made = to_resize_options(parsed->options, Limits{});
  return made ? "ok" : to_text(made.error());
}

TEST(ResizeOptionsOfUrls, RefusalsNameTheOptionOnce) {
  const UrlSettings settings{.presets = {"old=exp:1"}, .allow_security_options = true};
  for (const std::string_view name : option_names()) {
    for (const char* arguments :
         {"x", "-1", "1e9", "9999999999", "", "1:x", "1:1:x", "1:1:1:x", "sm", "re", "2", "0.5:x",
          "fp:2:2", "1:2:3:4:5:6:7:8:9", "png:x", "//8", "old"}) {
      const std::string text = refusal(std::string(name) + ":" + arguments, settings);
      if (text == "ok") continue;
      const std::string option = text.substr(0, text.find(": ") + 2);
      EXPECT_GT(option.size(), 2u) << text;
      EXPECT_EQ(text.find(option, 1), std::string::npos) << text;
    }
  }
  EXPECT_EQ(refusal("pr:old", settings), "expires: this URL has expired");
  EXPECT_EQ(refusal("wdith:1", {}), "wdith: there is no such option");
  EXPECT_EQ(refusal("msr:1", {}),
            "max_src_resolution: this server takes no options that change its limits");
  EXPECT_EQ(refusal("h:1", {.allowed_processing_options = {"w"}}),
            "h: it is not among the options that this server takes");
  const auto grammar = Grammar::make({.presets = {"deep=w:x"}});
  ASSERT_FALSE(grammar);
  EXPECT_EQ(grammar.error().message(),
            "preset 'deep': width: found 'x'; accepted: a whole number from 0 to 1000000");
}

TEST(ResizeOptionsOfUrls, RefusalsStateWhatIsTaken) {
  // An argument that is no number; the first one beyond the range, or "" where all are taken; the
  // range; the last ones within it.
  struct Range {
    std::string option;
    std::string beyond;
    std::string accepted;
    std::vector<std::string> taken;
  };
  const std::string side = "a whole number from 0 to 1000000";
  const std::string factor = "a number from 0.0001 to 100000";
  const std::string offset = "a number from -1000000 to 1000000";
  const Range ranges[] = {
      {"w:", "1000001", side, {"0", "1000000"}},
      {"h:", "1000001", side, {"0", "1000000"}},
      {"mw:", "1000001", side, {"0", "1000000"}},
      {"mh:", "1000001", side, {"0", "1000000"}},
      {"s:", "1000001", side, {"0", "1000000"}},
      {"rs:fit:1:", "1000001", side, {"0", "1000000"}},
      {"pd:1:", "1000001", side, {"0", "1000000"}},
      {"z:", "100001", factor, {"0.0001", "100000"}},
      {"z:1:", "0.00001", factor, {"0.0001", "100000"}},
      {"dpr:", "100001", factor, {"0.0001", "100000"}},
      {"g:no:", "1000001", offset, {"-1000000", "1000000"}},
      {"c:1:1:no:0:", "-1000001", offset, {"-1000000", "1000000"}},
      {"ex:1:no:", "1000001", offset, {"-1000000", "1000000"}},
      {"exar:1:no:", "1000001", offset, {"-1000000", "1000000"}},
      {"g:fp:0:", "1.1", "a number from 0 to 1", {"0", "1"}},
      {"bl:", "0.1", "0; this service does not do it", {"0"}},
      {"pix:", "2", "0 or 1; this service does not do it", {"0", "1"}},
      {"wm:", "0.1", "0; this service does not do it", {"0"}},
      {"t:", "10", "nothing; this service does not do it", {""}},
      {"f:", "png", "jpg, jpeg", {"jpg", "jpeg"}},
      {"q:", "101", "a whole number from 0 to 100", {"0", "100"}},
      {"bg:1:1:", "256", "3 or 6 hexadecimal digits, or three numbers from 0 to 255", {"0", "255"}},
      {"mb:",
       "9223372036854775808",
       "a whole number of bytes from 0 to 9223372036854775807",
       {"0", "9223372036854775807"}},
      {"maf:", "2147483648", "a whole number from 1 to 2147483647", {"1", "2147483647"}},
      {"mrd:",
       "2147483648",
       "a whole number from -2147483648 to 2147483647",
       {"-2147483648", "2147483647"}},
  };
  const UrlSettings settings{.allow_security_options = true};
  for (const Range& range : ranges) {
    EXPECT_THAT(refusal(range.option + "x", settings),
                testing::EndsWith(": found 'x'; accepted: " + range.accepted));
    EXPECT_NE(refusal(range.option + range.beyond, settings), "ok") << range.option;
    for (const std::string& argument : range.taken) {
      EXPECT_EQ(refusal(range.option + argument, settings), "ok") << range.option << argument;
    }
  }
  EXPECT_EQ(refusal("w:1000001", {}), "width: found 1000001; accepted: 0 to 1000000");
  EXPECT_EQ(refusal("dpr:1e-5", {}), "dpr: found 1e-05; accepted: 0.0001 to 100000");
  EXPECT_EQ(refusal("g:no:0:-1e7", {}), "gravity: found -10000000; accepted: -1000000 to 1000000");
}

TEST(ResizeOptionsOfUrls, TakeTheServersDefaultsWhereTheUrlIsSilent) {
  ResizeOptions defaults = service_defaults();
  defaults.quality = 70;
  defaults.metadata = Metadata::kKeep;
  defaults.auto_orient = false;
  defaults.color = ColorMode::kKeep;
  defaults.progressive = true;
  const auto options = [&](const std::string& url) {
    return to_string(*to_resize_options(parse_options(url)->options, defaults));
  };
  EXPECT_EQ(options("w:0"), to_string(defaults));
  EXPECT_EQ(to_resize_options(parse_options("sm:1")->options, defaults)->metadata,
            Metadata::kCopyright);
  EXPECT_EQ(to_resize_options(parse_options("sm:1/kcr:0")->options, defaults)->metadata,
            Metadata::kStrip);
  EXPECT_EQ(to_resize_options(parse_options("q:30/ar:1/scp:1")->options, defaults)->quality, 30);
  EXPECT_TRUE(to_resize_options(parse_options("ar:1")->options, defaults)->auto_orient);
}

// One server's options, URLs, and what becomes of both.
TEST(ResizeOptionsOfUrls, OverrideEachDefaultAlone) {
  struct Case {
    const char* defaults;  ///< as the command line has them
    const char* url;
    const char* library;
  };
  const Case table[] = {
      {"size=400x300", "q:80", "size=400x300"},
      {"size=400x300", "w:0", "size=x300"},
      {"size=400x300", "rs:fit:0:0", ""},
      {"size=400x300", "s:50:60", "size=50x60"},
      {"resize=fill", "w:9", "size=9x resize=fill"},
      {"resize=fill", "rt:fit", ""},
      {"resize=force", "rs:auto:5:5", "size=5x5 resize=auto"},
      {"enlarge=true", "q:80", "enlarge=true"},
      {"enlarge=true", "el:0", ""},
      {"min-size=50x60", "mw:0", "min-size=x60"},
      {"max-result-side=200", "w:500", "size=500x max-result-side=200"},
      {"zoom=2x3", "q:80", "zoom=2x3"},
      {"zoom=2x3", "z:1", ""},
      {"dpr=2", "q:80", "dpr=2"},
      {"dpr=2", "dpr:1", ""},
      {"rotate=90", "q:80", "rotate=90"},
      {"rotate=90", "rot:0", ""},
      {"rotate=270", "rot:180", "rotate=180"},
      {"flip=hv", "q:80", "flip=hv"},
      {"flip=hv", "fl:0", "flip=v"},
      {"flip=h", "fl::1", "flip=hv"},
      {"flip=hv", "fl:0:0", ""},
      {"gravity=noea:10:5", "q:80", "gravity=noea:10:5"},
      {"gravity=noea:10:5", "g:so", "gravity=so"},
      {"gravity=fp:0.25:0.75", "q:80", "gravity=fp:0.25:0.75"},
      {"gravity=fp:0.25:0.75", "g:ce", ""},
      {"crop=100x50", "q:80", "crop=100x50"},
      {"crop=100x50", "c:0.5", "crop=0.5x50"},
      {"crop=100x50", "c:0:0", ""},
      {"crop=100x50 crop-gravity=no", "q:80", "crop=100x50 crop-gravity=no"},
      {"crop=100x50 crop-gravity=no", "c:10:10:so", "crop=10x10 crop-gravity=so"},
      {"crop=100x50 crop-gravity=no", "g:so/c:10:10:so", "crop=10x10 gravity=so"},
      {"padding=1,2,3,4", "q:80", "padding=1,2,3,4"},
      {"padding=1,2,3,4", "pd::9", "padding=1,9,3,9"},
      {"padding=1,2,3,4", "pd:0", ""},
      {"size=9x9 extend=no:1:2", "q:80", "size=9x9 extend=no:1:2"},
      {"size=9x9 extend=no:1:2", "ex:1", "size=9x9 extend=no:1:2"},
      {"size=9x9 extend=no:1:2", "ex:1:so", "size=9x9 extend=so"},
      {"size=9x9 extend=no:1:2", "ex:0", "size=9x9"},
      {"size=9x9 extend-aspect-ratio=no", "exar:0", "size=9x9"},
      {"padding=1 background=00ff00", "q:80", "padding=1 background=00ff00"},
      {"padding=1 background=00ff00", "bg:fff", "padding=1 background=ffffff"},
      {"padding=1 background=00ff00", "pd:0", ""},
      // Alone it adds what extend would.
      {"size=9x9 background=00ff00 gravity=so", "q:80",
       "size=9x9 gravity=so extend=so background=00ff00"},
      {"size=9x9 background=00ff00", "g:no", "size=9x9 gravity=no extend=no background=00ff00"},
      {"size=9x9 background=00ff00", "pd:1", "size=9x9 padding=1 background=00ff00"},
      {"size=9x9 background=00ff00", "ex:0", "size=9x9"},
      {"size=9x9 background=00ff00", "h:0", "size=9x"},
      {"sharpen=3", "sh:0", ""},
      {"max-bytes=1000", "mb:0", ""},
  };
  for (const auto& [given, url, library] : table) {
    ResizeOptions defaults;
    for (std::string_view rest = given; !rest.empty();) {
      const std::string_view one = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      const std::size_t equals = one.find('=');
      ASSERT_TRUE(set_option(defaults, one.substr(0, equals), one.substr(equals + 1))) << one;
    }
    const auto parsed = parse_options(url);
    ASSERT_TRUE(parsed) << url;
    const auto made = to_resize_options(parsed->options, defaults);
    ASSERT_TRUE(made) << url;
    EXPECT_TRUE(validate(*made)) << given << " / " << url;
    EXPECT_EQ(to_string(*made), library) << given << " / " << url;
    // Equal texts share an answer, so they must stand for equal options.
    ImageRequest filled = *parsed;
    filled.options = with_defaults(filled.options, defaults);
    EXPECT_EQ(with_defaults(filled.options, defaults), filled.options);
    const std::string text = canonical_text(filled);
    const auto again =
        parse_options("cb:" + (text.empty() ? "" : "/" + text), {.allow_security_options = true});
    ASSERT_TRUE(again) << text;
    EXPECT_EQ(to_string(*to_resize_options(again->options, ResizeOptions{})), library) << url;
  }
}

TEST(ResizeOptionsOfUrls, ChangeLimitsOnlyWhereSettingsAllowIt) {
  UrlSettings settings;
  settings.allow_security_options = true;
  const auto parsed = parse_options("msr:0.5/msfs:1000/mrd:300", settings);
  ASSERT_TRUE(parsed);
  const auto options = to_resize_options(parsed->options, Limits{});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->limits.max_input_pixels, 500'000u);
  EXPECT_EQ(options->limits.max_input_bytes, 1000u);
  EXPECT_EQ(options->max_result_side_px, 300);
  const auto none = parse_options("msr:0/msfs:0/mrd:-1", settings);
  ASSERT_TRUE(none);
  const auto kept = to_resize_options(none->options, Limits{});
  EXPECT_EQ(kept->limits.max_input_pixels, Limits{}.max_input_pixels);
  EXPECT_EQ(kept->limits.max_input_bytes, Limits{}.max_input_bytes);
  EXPECT_EQ(kept->max_result_side_px, 0);
  EXPECT_EQ(outcome(parse_options("mrd:300")), "security_option");
}

std::string canonical(const std::string& options) {
  const auto parsed = parse_options(options);
  return parsed ? canonical_text(*parsed) : outcome(parsed);
}

TEST(CanonicalText, IsOneForAllSpellings) {
  const std::vector<std::vector<std::string>> groups = {
      {"w:100/h:50", "s:100:50", "rs:fit:100:50:0:0", "height:+50/width:0100", "h:50/w:7/w:100"},
      {"dpr:1.5", "dpr:1.50", "dpr:15e-1", "dpr:0x1.8p0", "dpr:+1.5"},
      {"q:60", "fq:jpg:60", "q:0/fq:jpeg:60", "fq:jpg:60:webp:10", "q:60/fq:jpg:20"},
      {"pd:10", "pd:10:10:10:10", "padding:10:10"},
      {"bg:fff/pd:1", "bg:ffffff/pd:1", "bg:255:255:255/pd:1", "bg:FFF/pd:1:1"},
      {"c:10:10:no/g:no", "g:no/c:10:10", "c:10.9:10/g:no:0:0"},
      {"rot:90", "rot:450"},
      {"raw:1/w:100", "raw:t", "q:3/raw:true"},
      {"el:1", "el:t", "enlarge:TRUE"},
      {"sm:0", "sm:f/kcr:1", "sm:no/kcr:0"},
      {"",       "w:0",   "el:0",   "ex:0:no", "g:ce",   "c:0:0:no", "rs:fit:0:0",
       "bg:123", "z:1",   "dpr:1",  "rot:360", "fl:0:0", "sh:0",     "pix:1",
       "wm:0",   "q:0",   "mb:0",   "f:jpg",   "ph:1",   "eth:1",    "cb:",
       "fn:cat", "att:1", "exp:-5", "skp:png"},
  };
  std::vector<std::string> seen;
  for (const auto& group : groups) {
    const auto text = [](const std::string& options) {
      return options.empty() ? canonical("cb:") : canonical(options);
    };
    for (const std::string& other : group) EXPECT_EQ(text(other), text(group[0])) << other;
    seen.push_back(text(group[0]));
  }
  EXPECT_EQ(seen.back(), "");
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end());
}

TEST(CanonicalText, TellsApartWhatDiffers) {
  const std::vector<std::string> options = {
      "w:100",      "h:100",     "w:101",      "rt:fill",        "mw:1",       "mh:1",
      "z:2:1",      "z:1:2",     "dpr:2",      "el:1",           "ex:1",       "ex:1:no",
      "exar:1",     "g:no",      "g:ce:1:0",   "g:ce:0:1",       "g:fp:0.5:0", "c:1:0",
      "c:0:1",      "c:0.5:0.5", "c:1:1:no",   "pd:1",           "pd:0:1",     "pd:1/bg:000",
      "ar:0",       "ar:1",      "rot:90",     "rot:180",        "fl:1",       "fl:0:1",
      "fl:1:1",     "t:1",       "t:1:fff",    "bl:1",           "sh:1",       "pix:2",
      "wm:1",       "q:1",       "mb:1",       "f:png",          "sm:0",       "sm:1",
      "sm:1/kcr:0", "kcr:0",     "scp:0",      "scp:1",          "skp:jpg",    "raw:1",
      "cb:a",       "cb:b",      "w:10000000", "w:100/cb:q%3A1", "w:100/q:1"};
  std::set<std::string> seen;
  for (const std::string& one : options) {
    EXPECT_TRUE(seen.insert(canonical(one)).second) << one << ": " << canonical(one);
  }
}

TEST(AnswerFilename, ComesFromTheUrl) {
  const auto name = [](const std::string& url) {
    ImageRequest request;
    request.source_url = url;
    return answer_filename(request);
  };
  EXPECT_EQ(name("http://images.test/a/cat.jpg"), "cat");
  EXPECT_EQ(name("http://images.test/cat.tar.jpg"), "cat.tar");
  EXPECT_EQ(name("http://images.test/cat.jpg?v=1"), "cat");
  EXPECT_EQ(name("http://images.test/"), "image");
  EXPECT_EQ(name("http://images.test"), "image");
  EXPECT_EQ(name("relative.jpg"), "relative");
  const std::string cut = name("http://images.test/" + std::string(254, 'a') + "\xe7\x8c\xab.jpg");
  EXPECT_EQ(cut, std::string(254, 'a')) << "no half of a character";
  EXPECT_EQ(answer_filename(*parse_options("fn:Y2F0:1")), "cat");
  EXPECT_EQ(answer_filename(*parse_options("fn:")), "photo");
}

}  // namespace
}  // namespace framewire::service::url::test
