// imgproxy's behaviour over HTTP, case by case: tests/service/cases/http.jsonl.
#include <gtest/gtest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <service/http/response.hpp>
#include <set>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/gzip.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::http::test {
namespace {

using nlohmann::json;
namespace scripted = service::test;

// Answered otherwise here, or tested elsewhere because a state is needed that no request makes.
const std::map<std::string, const char*> kElsewhere = {
    {"http-0022", "ETags are our own: HttpImages.TheEtagBusterMakesEveryEtagAnother"},
    {"http-0039", "the same"},
    {"http-0072", "ETags are our own: HttpImages.RevalidatesWithTheOrigin"},
    {"http-0059", "HttpImagesAttack.TheLastWaiterEndsTheWork"},
    {"http-0074", "HttpImagesAttack.SlowOriginsEndWithTheRequest"},
    {"http-0112", "HttpServerAttack.AFullQueueSays429"}};

// The members of an object that a case may have.
std::vector<std::pair<std::string, std::string>> texts_of(const json& one, const char* name) {
  std::vector<std::pair<std::string, std::string>> all;
  if (!one.contains(name)) return all;
  for (const auto& [key, value] : one[name].items()) all.emplace_back(key, value);
  return all;
}

// The frame header of 9000 by 9000 pixels over data of fewer.
Bytes with_frame_size(Bytes jpeg, int width, int height) {
  for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xFF || jpeg[i + 1] != 0xC0) continue;
    jpeg[i + 5] = static_cast<std::uint8_t>(height >> 8);
    jpeg[i + 6] = static_cast<std::uint8_t>(height);
    jpeg[i + 7] = static_cast<std::uint8_t>(width >> 8);
    jpeg[i + 8] = static_cast<std::uint8_t>(width);
    break;
  }
  return jpeg;
}

Bytes with_orientation(const Bytes& jpeg, std::uint8_t orientation) {
  const Bytes segment = {0xFF, 0xE1, 0, 34, 'E',         'x', 'i', 'f', 0,    0, 'I', 'I',
                         42,   0,    8, 0,  0,           0,   1,   0,   0x12, 1, 3,   0,
                         1,    0,    0, 0,  orientation, 0,   0,   0,   0,    0, 0,   0};
  Bytes out(jpeg.begin(), jpeg.begin() + 2);
  out.insert(out.end(), segment.begin(), segment.end());
  out.insert(out.end(), jpeg.begin() + 2, jpeg.end());
  return out;
}

std::string body_of(const std::string& words) {
  if (words == "half") return "half";
  if (words == "jpeg 9000x9000") return text_of(with_frame_size(make_jpeg(64, 64), 9000, 9000));
  if (words.ends_with("orientation 6")) return text_of(with_orientation(make_jpeg(400, 300), 6));
  return text_of(make_jpeg(400, 300));
}

// "now+600" and "now-3600s" become times.
std::string with_times(std::string text, bool as_date) {
  static const std::regex kNow("now([+-]\\d+)s?");
  std::smatch match;
  while (std::regex_search(text, match, kNow)) {
    const std::int64_t time = ::time(nullptr) + std::stoll(match[1]);
    text = match.prefix().str() + (as_date ? http_date(time) : std::to_string(time)) +
           match.suffix().str();
  }
  return text;
}

std::function<void(scripted::Connection&)> script_of(const json& input) {
  const json origin = input.value("origin", json::object());
  if (origin.contains("error")) {
    return [](scripted::Connection& connection) {
      (void)connection.read_head();
      (void)connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nabc");
      connection.stall(5000);
    };
  }
  const int code = origin.value("status", 404);
  const std::string words = origin.value("body", "");
  std::string body = words.empty() ? "" : body_of(words);
  if (origin.value("encode", "") == "gzip") body = scripted::gzip_stored(body);
  std::string fields;
  for (const auto& [name, value] : texts_of(origin, "headers")) {
    if (name == "Content-Length") continue;
    std::string text = value;
    if (name == "Content-Range" && text == "bytes 0-999/1000") {
      text = "bytes 0-" + std::to_string(body.size() - 1) + "/" + std::to_string(body.size());
    }
    fields += name + ": " + with_times(text, true) + "\r\n";
  }
  return scripted::answering([=](const std::string&) {
    if (words.find("chunked") != std::string::npos) {
      char size[32];
      (void)std::snprintf(size, sizeof size, "%zx\r\n", body.size());
      return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(size) + body +
             "\r\n0\r\n\r\n";
    }
    return "HTTP/1.1 " + std::to_string(code) + " Word\r\n" + fields +
           "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  });
}

/// @param stalls  whether the origin sends half an answer and waits
ServiceSettings settings_of(const json& config, const std::string& folder, bool stalls) {
  ServiceSettings settings = loopback();
  settings.allow_raw = true;
  settings.defaults.limits.max_input_pixels = 50'000'000;
  settings.source.download_timeout = std::chrono::milliseconds(stalls ? 700 : 20'000);
  const auto flag = [&](const char* name, bool standard) { return config.value(name, standard); };
  settings.url.path_prefix = config.value("path_prefix", "");
  settings.secret = config.value("secret", "");
  settings.ttl_s = config.value("ttl", settings.ttl_s);
  settings.cache_control_passthrough = flag("cache_control_passthrough", false);
  settings.canonical_link = flag("set_canonical_header", false);
  settings.url.client_hints = flag("client_hints", false);
  settings.debug_headers = flag("enable_debug_headers", false);
  settings.allow_origin = config.value("allow_origin", "");
  settings.etag = flag("use_etag", true);
  settings.last_modified = flag("use_last_modified", true);
  settings.url.allow_security_options = flag("allow_security_options", false);
  settings.defaults.limits.max_input_bytes =
      config.value("max_src_file_size", settings.defaults.limits.max_input_bytes);
  if (config.contains("key")) settings.url.keys = {config["key"]};
  if (config.contains("salt")) settings.url.salts = {config["salt"]};
  if (config.contains("local_root")) settings.source.root = folder;
  return settings;
}

std::string lower_case(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

void check_field(const std::string& id, const std::string& found, const std::string& expected) {
  static const std::regex kAbout("max-age about (\\d+), public");
  std::smatch match;
  if (std::regex_match(expected, match, kAbout)) {
    int age = 0;
    ASSERT_EQ(std::sscanf(found.c_str(), "max-age=%d, public", &age), 1) << id << ": " << found;
    // From when the request was made: a busy machine may take its time.
    EXPECT_LE(age, std::stoi(match[1])) << id;
    EXPECT_GE(age, std::stoi(match[1]) - 60) << id;
  } else if (expected == "text/plain") {
    EXPECT_TRUE(found.starts_with(expected)) << id << ": " << found;
  } else {
    EXPECT_EQ(found, expected) << id;
  }
}

void check(const json& one, const Answer& answer) {
  const std::string id = one["id"];
  const json& expect = one["expect"];
  const std::string better = one.contains("framewire") && one["framewire"].is_string()
                                 ? one["framewire"].get<std::string>()
                                 : "";
  const bool answered_better = better.starts_with(std::to_string(answer.status));
  EXPECT_TRUE(answered_better || answer.status == expect["status"].get<int>())
      << id << ": " << answer.status << " " << answer.body;
  for (const auto& [name, value] : texts_of(expect, "headers")) {
    if (better.starts_with("its own")) {
      EXPECT_NE(answer.field(lower_case(name)), "") << id;
    } else {
      check_field(id, answer.field(lower_case(name)), value);
    }
  }
  for (const auto& [name, value] : texts_of(expect, "header_matches")) {
    EXPECT_TRUE(std::regex_search(answer.field(lower_case(name)), std::regex(value))) << id;
  }
  for (const auto& name : expect.value("absent", json::array())) {
    EXPECT_EQ(answer.fields.count(lower_case(name)), 0u) << id << " " << name;
  }
  const bool as_it_is = expect.contains("body");
  EXPECT_TRUE(!as_it_is || answer.body == text_of(make_jpeg(400, 300))) << id;
}

TEST(HttpCases, AreAnsweredAsExpected) {
  std::ifstream file(FRAMEWIRE_DOCS "/../tests/service/cases/http.jsonl");
  ASSERT_TRUE(file);
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  int checked = 0;
  std::set<std::string> elsewhere;
  std::string line;
  while (std::getline(file, line)) {
    const json one = json::parse(line);
    const json& input = one["input"];
    if (kElsewhere.contains(one["id"])) {
      elsewhere.insert(one["id"]);
      continue;
    }
    const bool stalls = input.value("origin", json::object()).contains("error");
    const ImageServer images(script_of(input), settings_of(input.value("config", json::object()),
                                                           folder.path().string(), stalls));
    std::string fields;
    for (const auto& [name, value] : texts_of(input, "headers")) {
      fields += name + ": " + value + "\r\n";
    }
    const std::string target = with_times(input["target"], false);
    const auto answer = images.ask(target, fields, input["method"]);
    ASSERT_TRUE(answer) << one["id"];
    check(one, *answer);
    ++checked;
  }
  EXPECT_EQ(elsewhere.size(), kElsewhere.size()) << "a case that is no longer there is excused";
  EXPECT_EQ(checked, 54);
}

}  // namespace
}  // namespace framewire::service::http::test
