// What the service counts, how it tells it, and whom.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <iterator>
#include <list>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <service/http/metrics.hpp>
#include <set>
#include <sstream>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
namespace scripted = service::test;

const std::string kLocalHost = "GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";

/// A scrape, taken apart line by line.
struct Figures {
  std::map<std::string, double> values;      ///< by name with labels, as written
  std::map<std::string, std::string> types;  ///< by name
  std::vector<std::string> bad_lines;

  [[nodiscard]] double at(const std::string& series) const {
    const auto found = values.find("framewire_" + series);
    return found == values.end() ? 0 : found->second;
  }
};

Figures parse(const std::string& text) {
  static const std::regex comment(R"(# (HELP|TYPE) ([a-z0-9_]+) (.+))");
  static const std::regex sample(
      R"(([a-z0-9_]+(?:\{[a-z_]+="[^"\\\n]*"(?:,[a-z_]+="[^"\\\n]*")*\})?) ([-+0-9.eE]+|\+Inf|NaN))");
  Figures figures;
  std::istringstream lines(text);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, comment)) {
      if (match[1] == "TYPE") figures.types[match[2]] = match[3];
    } else if (std::regex_match(line, match, sample) && !figures.values.contains(match[1])) {
      figures.values[match[1]] = std::stod(match[2]);
    } else {
      figures.bad_lines.push_back(line);
    }
  }
  return figures;
}

std::string scrape_text(const std::string& endpoint) {
  TestClient client(endpoint);
  const auto answer = client.ask(kLocalHost);
  EXPECT_TRUE(answer && answer->status == 200);
  return answer ? answer->body : "";
}

/// Once everything that was answered has been counted.
Figures settled(const std::string& endpoint) {
  for (int i = 0; i < 3000; ++i) {
    Figures figures = parse(scrape_text(endpoint));
    if (figures.at("requests_in_progress") == 0 && figures.at("queue_depth") == 0) return figures;
    std::this_thread::sleep_for(10ms);
  }
  ADD_FAILURE() << "something stays under way";
  return {};
}

int status_of(const std::string& endpoint, const std::string& request) {
  TestClient client(endpoint);
  const auto answer = client.ask(request);
  return answer ? answer->status : 0;
}

TEST(HttpMetrics, CountWhatHappened) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  TestServer server(settings);
  const std::string at = server.endpoint();
  const std::string jpeg = text_of(make_jpeg(64, 48));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(at, post("/v1/resize?size=8x", jpeg)), 200);
  EXPECT_EQ(status_of(at, get("/unsafe/w:100/plain/a.jpg")), 200);
  EXPECT_EQ(status_of(at, get("/unsafe/w:100/plain/none.jpg")), 404);
  EXPECT_EQ(status_of(at, post("/v1/resize", "no picture")), 422);
  EXPECT_EQ(status_of(at, post("/v1/resize?quality=x", jpeg)), 400);
  EXPECT_EQ(status_of(at, "no HTTP\r\n\r\n"), 400);
  EXPECT_EQ(status_of(at, get("/livez")), 200);

  const Figures now = settled(at);
  EXPECT_EQ(now.at("requests_total"), 8) << "health and metrics are not counted";
  EXPECT_EQ(now.at("status_codes_total{status=\"200\"}"), 4);
  EXPECT_EQ(now.at("status_codes_total{status=\"404\"}"), 1);
  EXPECT_EQ(now.at("status_codes_total{status=\"422\"}"), 1);
  EXPECT_EQ(now.at("status_codes_total{status=\"400\"}"), 2);
  EXPECT_EQ(now.at("errors_total{type=\"not_found\"}"), 1);
  EXPECT_EQ(now.at("errors_total{type=\"processing\"}"), 1);
  EXPECT_EQ(now.at("errors_total{type=\"request\"}"), 2);
  EXPECT_EQ(now.at("errors_total{type=\"internal\"}"), 0);
  EXPECT_EQ(now.at("decoded_pixels_total"), 3 * 64 * 48 + 400 * 300);
  EXPECT_EQ(now.at("request_duration_seconds_count"), 8);
  EXPECT_EQ(now.at("request_span_duration_seconds_count{span=\"decode\"}"), 4);
  EXPECT_EQ(now.at("request_span_duration_seconds_count{span=\"fetch\"}"), 2);
  EXPECT_EQ(now.at("request_span_duration_seconds_count{span=\"send\"}"), 8);
  EXPECT_GT(now.at("request_span_duration_seconds_sum{span=\"decode\"}"), 0);
  EXPECT_EQ(now.at("images_in_progress"), 0);
  EXPECT_TRUE(within_a_minute([&] { return settled(at).at("connections") == 1; }))
      << "the scraper's own";
  EXPECT_GT(now.at("process_resident_memory_bytes"), 1 << 20);
  EXPECT_GE(now.at("workers"), 1);
}

TEST(HttpMetrics, CountWhatIsTurnedAway) {
  ServiceSettings settings = loopback();
  settings.queue = 2;
  TestServer server(settings);
  std::list<TestClient> waiting = hold_requests(server, 2);
  ASSERT_EQ(waiting.size(), 2u);
  EXPECT_EQ(status_of(server.endpoint(), post("/v1/resize", "123456789")), 429);
  Figures now = parse(scrape_text(server.endpoint()));
  EXPECT_EQ(now.at("requests_in_progress"), 2);
  EXPECT_EQ(now.at("queue_depth"), 2);
  EXPECT_EQ(now.at("bytes_under_way"), 18);
  for (TestClient& client : waiting) client.reset();
  now = settled(server.endpoint());
  EXPECT_EQ(now.at("rejected_total{reason=\"queue_full\"}"), 1);
  EXPECT_EQ(now.at("rejected_total{reason=\"over_budget\"}"), 0);
  EXPECT_EQ(now.at("status_codes_total{status=\"429\"}"), 1);
  EXPECT_EQ(now.at("errors_total{type=\"queue\"}"), 1);
  EXPECT_EQ(now.at("status_codes_total{status=\"499\"}"), 2);
  EXPECT_EQ(now.at("errors_total{type=\"client_gone\"}"), 2);
  EXPECT_EQ(now.at("request_duration_seconds_count"), 1) << "nobody read the others";
}

TEST(HttpMetrics, CountSharedWorkAndStrangeStatus) {
  std::atomic<bool> go{false};
  ImageServer images([&](scripted::Connection& connection) {
    const std::string head = connection.read_head();
    while (!go) std::this_thread::sleep_for(5ms);
    if (head.find("/odd") != std::string::npos) {
      connection.send("HTTP/1.1 467 Odd\r\nContent-Length: 0\r\n\r\n");
      return;
    }
    const std::string jpeg = text_of(make_jpeg(64, 48));
    connection.send("HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(jpeg.size()) +
                    "\r\n\r\n" + jpeg);
  });
  const std::string at = images.server->endpoint();
  const auto in_progress = [&] { return parse(scrape_text(at)).at("requests_in_progress"); };
  std::list<TestClient> clients;
  for (int i = 0; i < 3; ++i) {
    clients.emplace_back(at);
    ASSERT_TRUE(clients.back().send(get("/unsafe/w:8/plain/http://images.test/a.jpg")));
  }
  EXPECT_TRUE(within_a_minute([&] { return in_progress() == 3; }));
  go = true;
  for (TestClient& client : clients) EXPECT_EQ(client.receive()->status, 200);
  EXPECT_EQ(images.ask("/unsafe/plain/http://images.test/odd")->status, 467);
  const Figures now = settled(at);
  EXPECT_EQ(now.at("coalesced_total"), 2);
  EXPECT_EQ(now.at("decoded_pixels_total"), 64 * 48);
  EXPECT_EQ(now.at("status_codes_total{status=\"200\"}"), 3);
  EXPECT_EQ(now.at("status_codes_total{status=\"other\"}"), 1) << "an origin chose the number";
  EXPECT_EQ(now.at("errors_total{type=\"downloading\"}"), 1);
}

TEST(HttpMetrics, AreTheFormatAndTheNamesOfTheTable) {
  TestServer server(loopback());
  EXPECT_EQ(status_of(server.endpoint(), post("/v1/resize", text_of(make_jpeg(64, 48)))), 200);
  const Figures now = settled(server.endpoint());
  for (const std::string& line : now.bad_lines) ADD_FAILURE() << "not the format: " << line;
  std::map<std::string, std::string> expected;
  for (const MetricDescription& row : metric_descriptions()) {
    expected[std::string(row.name)] = row.type;
  }
  EXPECT_EQ(now.types, expected);
  for (const auto& [series, value] : now.values) {
    std::string name = series.substr(0, series.find('{'));
    for (const char* end : {"_bucket", "_sum", "_count"}) {
      const auto at = name.rfind(end);
      if (!expected.contains(name) && at != std::string::npos) name.resize(at);
    }
    EXPECT_TRUE(expected.contains(name)) << series;
  }
}

TEST(HttpMetrics, BucketsSumUp) {
  DurationHistogram histogram;
  for (const double seconds : {-1.0, 0.0, std::nan(""), 0.0005, 0.0006, 2.0, 30.0, 31.0, 1e300}) {
    histogram.observe(seconds);
  }
  EXPECT_EQ(histogram.bucket(0), 4u) << "what is no time, and a bound itself";
  EXPECT_EQ(histogram.bucket(1), 1u);
  EXPECT_EQ(histogram.bucket(DurationHistogram::kBounds.size() - 1), 1u);
  EXPECT_EQ(histogram.bucket(DurationHistogram::kBounds.size()), 2u);
  EXPECT_NEAR(histogram.sum_s(), 0.0011 + 63 + 86'400, 1e-6);

  TestServer server(loopback());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(status_of(server.endpoint(), post("/v1/resize", text_of(make_jpeg(64, 48)))), 200);
  }
  const std::string text = scrape_text(server.endpoint());
  static const std::regex bucket(R"re((framewire_\w+)_bucket\{(.*?),?le="([^"]+)"\} (\d+))re");
  std::map<std::string, double> last;
  std::map<std::string, double> bound;
  for (std::sregex_iterator it(text.begin(), text.end(), bucket), end; it != end; ++it) {
    const std::string series = (*it)[1].str() + "|" + (*it)[2].str();
    const double le = (*it)[3] == "+Inf" ? HUGE_VAL : std::stod((*it)[3]);
    const double count = std::stod((*it)[4]);
    EXPECT_GE(count, last[series]) << it->str();
    EXPECT_GT(le, bound[series]) << it->str();
    last[series] = count;
    bound[series] = le;
  }
  EXPECT_EQ(last.size(), 6u) << "one of requests, five of spans";
  const Figures now = parse(text);
  for (const auto& [series, count] : last) {
    EXPECT_EQ(bound[series], HUGE_VAL);
    const auto bar = series.find('|');
    const std::string labels = series.substr(bar + 1);
    const std::string name =
        series.substr(10, bar - 10) + "_count" + (labels.empty() ? "" : "{" + labels + "}");
    EXPECT_EQ(now.at(name), count) << name;
  }
}

TEST(HttpMetrics, AFallbackHasAKind) {
  EXPECT_EQ(fallback_reason("it needs 9 MB of GPU memory; a batch may take 1"),
            FallbackReason::kMemory);
  EXPECT_EQ(fallback_reason("the CUDA codec does not take profiles that make no table"),
            FallbackReason::kColour);
  EXPECT_EQ(fallback_reason("the CUDA codec does not take scans of part of the coefficients"),
            FallbackReason::kScans);
  EXPECT_EQ(fallback_reason("nvJPEG does not take 12 bits"), FallbackReason::kUnsupported);
  EXPECT_EQ(fallback_reason("anything a stranger might bring about"), FallbackReason::kOther);
  Metrics metrics;
  Report report;
  report.input.width_px = report.input.height_px = 10;
  report.codec = CodecKind::kTurbo;
  report.codec_reason = "nvJPEG does not take 12 bits";
  metrics.picture_made(CodecKind::kTurbo, true, report, 0.1);
  metrics.picture_made(CodecKind::kAuto, false, report, 0.1);
  metrics.picture_made(CodecKind::kNvjpeg, true, report, 0.1);
  const std::size_t unsupported = enum_index(FallbackReason::kUnsupported);
  EXPECT_EQ(metrics.fallbacks[0][0][unsupported].value(), 0u) << "no GPU was to do it";
  EXPECT_EQ(metrics.fallbacks[1][0][unsupported].value(), 1u);
  EXPECT_EQ(metrics.decoded_pixels.value(), 300u);
}

struct Reader {
  const char* fields;
  int status;
};

TEST(HttpMetricsAttack, OnlyThisMachineReadsThemUnlessItIsSaid) {
  const Reader readers[] = {
      {"Host: 127.0.0.1:8080\r\n", 200},
      {"Host: localhost\r\n", 200},
      {"Host: [::1]:80\r\n", 200},
      {"Host: evil.example\r\n", 404},
      {"Host: 127.0.0.1.evil.example\r\n", 404},
      {"Host: localhost\r\nX-Forwarded-For: 192.0.2.1\r\n", 404},
      {"Host: localhost\r\nX-Forwarded-For:\r\n", 404},
      {"Host: localhost\r\nX-Forwarded-For: \r\nX-Forwarded-For: 192.0.2.1\r\n", 404},
      {"Host: localhost\r\nForwarded: for=192.0.2.1\r\n", 404},
      {"Host: localhost\r\nVia: 1.1 proxy\r\n", 404}};
  const scripted::TemporaryFolder folder;
  const std::string socket = "unix:" + (folder.path() / "s").string();
  const auto check = [&](const std::vector<std::string>& metrics, bool readable, bool everybody) {
    ServiceSettings settings = loopback();
    settings.listen.push_back(socket);
    settings.metrics = metrics;
    settings.allow_origin = "*";
    TestServer server(settings);
    for (const std::size_t listener : {0u, 1u}) {
      for (const Reader& reader : readers) {
        TestClient client(server.endpoint(listener));
        const auto answer =
            client.ask("GET /metrics HTTP/1.1\r\n" + std::string(reader.fields) + "\r\n");
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->status, everybody  ? 200
                                  : readable ? reader.status
                                             : 404)
            << reader.fields;
        if (answer->status == 200) {
          EXPECT_EQ(answer->field("access-control-allow-origin"), "");
        }
      }
    }
  };
  check({}, true, false);
  check({"none"}, false, false);
  check({"main"}, true, true);
  check({"127.0.0.1:0"}, false, false);
}

TEST(HttpMetricsAttack, TheirOwnListenerAnswersNothingElse) {
  ServiceSettings settings = loopback();
  settings.metrics = {"127.0.0.1:0"};
  settings.max_connections = 2;
  TestServer server(settings);
  ASSERT_EQ(server.server().endpoints().size(), 2u);
  const std::string own = server.endpoint(1);
  EXPECT_EQ(status_of(own, get("/metrics")), 200) << "whatever the host's name";
  for (const char* path : {"/", "/livez", "/v1/options", "/unsafe/plain/a.jpg"}) {
    EXPECT_EQ(status_of(own, get(path)), 404) << path;
  }
  EXPECT_EQ(status_of(own, post("/v1/resize", text_of(make_jpeg(8, 8)))), 404);
  EXPECT_EQ(status_of(own, "POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n"), 405);
  TestClient head(own);
  const auto answer = head.ask("HEAD /metrics HTTP/1.1\r\nHost: a\r\n\r\n", false);
  ASSERT_TRUE(answer);
  EXPECT_GT(std::stoi(answer->field("content-length")), 1000);
  EXPECT_TRUE(answer->field("content-type").starts_with("text/plain; version=0.0.4"));

  // Whoever fills one listener does not close the other.
  std::list<TestClient> idle;
  for (int i = 0; i < 40; ++i) idle.emplace_back(own);
  TestClient one(server.endpoint());
  EXPECT_EQ(one.ask(get("/livez"))->status, 200);
  TestClient two(server.endpoint());
  EXPECT_EQ(two.ask(get("/livez"))->status, 200);
  EXPECT_EQ(one.ask(get("/livez"))->status, 200) << "closed for the sake of a scraper";
  EXPECT_TRUE(within_a_minute([&] { return settled(own).at("connections") <= 2 + 16; }));
  const Figures now = parse(scrape_text(own));
  EXPECT_EQ(now.at("requests_total"), 0) << "what asks for figures is none of them";
}

TEST(HttpMetricsAttack, FiguresAreThereWhenConnectionsAreNot) {
  ServiceSettings settings = loopback();
  settings.metrics = {"127.0.0.1:0"};
  settings.max_connections = 2;
  TestServer server(settings);
  std::list<TestClient> busy = hold_requests(server, 2);
  ASSERT_EQ(busy.size(), 2u);
  EXPECT_EQ(status_of(server.endpoint(), ""), 503);
  const Figures now = parse(scrape_text(server.endpoint(1)));
  EXPECT_EQ(now.at("rejected_total{reason=\"connections\"}"), 1);
  EXPECT_EQ(now.at("requests_in_progress"), 2);
}

TEST(HttpMetricsAttack, AServerEndsWhileItIsScraped) {
  for (int round = 0; round < 20; ++round) {
    ServiceSettings settings = loopback();
    settings.threads = 2;
    auto server = std::make_unique<TestServer>(settings);
    const std::string at = server->endpoint();
    std::atomic<int> scrapes{0};
    std::vector<std::thread> scrapers;
    for (int i = 0; i < 2; ++i) {
      scrapers.emplace_back([&] {
        TestClient client(at);
        while (client.connected() && client.send(kLocalHost) && client.receive()) ++scrapes;
      });
    }
    EXPECT_TRUE(within_a_minute([&] { return scrapes >= 4; }));
    server->stop();
    for (std::thread& scraper : scrapers) scraper.join();
  }
}

TEST(HttpMetricsAttack, NothingOfAStrangersBecomesALabel) {
  TestServer server(loopback());
  for (const char* path : {"/nothing", "/unsafe/w:1/plain/evil\"}", "/v1/evil"}) {
    (void)status_of(server.endpoint(), get(path, "X-Request-ID: evil\r\nUser-Agent: evil\r\n"));
  }
  (void)status_of(server.endpoint(), "EVIL / HTTP/1.1\r\nHost: evil\r\n\r\n");
  (void)settled(server.endpoint());
  EXPECT_EQ(scrape_text(server.endpoint()).find("vil"), std::string::npos);
}

TEST(HttpMetricsAttack, ScrapingUnderLoadDisturbsNobody) {
  ServiceSettings settings = loopback();
  settings.threads = 2;
  TestServer server(settings);
  const std::string at = server.endpoint();
  const std::string request = post("/v1/resize?size=8x", text_of(make_jpeg(32, 24)));
  constexpr int kRequests = 150;
  std::atomic<int> good{0};
  std::atomic<bool> ended{false};
  std::atomic<int> scrapes{0};
  std::atomic<int> asked{0};
  std::vector<std::thread> scrapers;
  for (int i = 0; i < 3; ++i) {
    scrapers.emplace_back([&] {
      TestClient client(at);
      double before = 0;
      while (!ended) {
        const auto answer = client.ask(kLocalHost);
        ASSERT_TRUE(answer && answer->status == 200);
        const Figures now = parse(answer->body);
        EXPECT_TRUE(now.bad_lines.empty());
        EXPECT_GE(now.at("requests_total"), before) << "a counter fell";
        before = now.at("requests_total");
        ++scrapes;
      }
    });
  }
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i) {
    clients.emplace_back([&] {
      TestClient client(at);
      for (int n = 0; n < kRequests || scrapes <= 3; ++n) {
        ++asked;
        const auto answer = client.ask(request);
        if (answer && answer->status == 200) ++good;
      }
    });
  }
  for (std::thread& client : clients) client.join();
  ended = true;
  for (std::thread& scraper : scrapers) scraper.join();
  EXPECT_EQ(good, asked);
  const Figures now = settled(at);
  EXPECT_EQ(now.at("requests_total"), asked);
  EXPECT_EQ(now.at("request_duration_seconds_count"), asked);
  EXPECT_EQ(now.at("decoded_pixels_total"), asked * 32 * 24);
}

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(HttpMetrics, ThePageShowsTheTable) {
  EXPECT_NE(read_file(FRAMEWIRE_DOCS "/serve.md").find(metrics_as_markdown()), std::string::npos)
      << "docs/serve.md is to have this table:\n"
      << metrics_as_markdown();
}

TEST(HttpMetrics, TheDashboardNamesWhatThereIs) {
  const std::string text = read_file(FRAMEWIRE_DOCS "/../packaging/grafana/framewire.json");
  const auto dashboard = nlohmann::json::parse(text);
  std::set<std::string> known;
  for (const MetricDescription& row : metric_descriptions()) {
    const std::string name(row.name);
    if (row.type != "histogram" && row.type != "summary") known.insert(name);
    if (row.type == "histogram") known.insert(name + "_bucket");
    if (row.type == "histogram" || row.type == "summary") {
      known.insert({name + "_sum", name + "_count"});
    }
  }
  static const std::regex name("framewire_[a-z0-9_]+");
  std::set<std::string> used;
  std::set<int> ids;
  for (const auto& panel : dashboard.at("panels")) {
    EXPECT_TRUE(ids.insert(panel.at("id").get<int>()).second) << panel.at("title");
    ASSERT_FALSE(panel.at("targets").empty()) << panel.at("title");
    for (const auto& target : panel.at("targets")) {
      const std::string query = target.at("expr");
      std::sregex_iterator it(query.begin(), query.end(), name);
      EXPECT_NE(it, std::sregex_iterator()) << query;
      for (; it != std::sregex_iterator(); ++it) used.insert(it->str());
    }
  }
  for (const std::string& metric : used) EXPECT_TRUE(known.contains(metric)) << metric;
  for (const char* wanted :
       {"framewire_requests_total", "framewire_status_codes_total",
        "framewire_request_duration_seconds_bucket", "framewire_queue_depth",
        "framewire_gpu_batch_size_sum", "framewire_process_resident_memory_bytes"}) {
    EXPECT_TRUE(used.contains(wanted)) << wanted;
  }
}

}  // namespace
}  // namespace framewire::service::http::test
