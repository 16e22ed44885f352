// The server over loopback and unix sockets: what it answers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/un.h>
#include <unistd.h>
#include <future>
#include <nlohmann/json.hpp>
#include <regex>
#include <tests/service/http/client.hpp>
#include <tests/support/passed_files.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

std::string chunked(std::string_view target, std::string_view body, std::size_t piece) {
  std::string text = "POST " + std::string(target) +
                     " HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += piece) {
    const auto part = body.substr(at, piece);
    char size[24];
    (void)std::snprintf(size, sizeof size, "%zx\r\n", part.size());
    text += size;
    text += part;
    text += "\r\n";
  }
  return text + "0\r\n\r\n";
}

TEST(HttpServer, ResizesWhatIsPosted) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto answer =
      client.ask(post("/v1/resize?size=100x&quality=70", text_of(make_jpeg(400, 300))));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(size_of(answer->body), "100x75");
  EXPECT_EQ(answer->field("content-type"), "image/jpeg");
  EXPECT_EQ(answer->field("x-framewire-codec"), "turbo");
  EXPECT_EQ(answer->field("x-content-type-options"), "nosniff");
  EXPECT_NE(answer->field("content-security-policy").find("sandbox"), std::string::npos);
  EXPECT_NE(answer->field("server-timing").find("decode;dur="), std::string::npos);
  EXPECT_TRUE(std::regex_match(answer->field("x-request-id"), std::regex("[A-Za-z0-9_-]+")));
  EXPECT_TRUE(server.idle());
}

TEST(HttpServer, AnswersTheEnginesBytes) {
  TestServer server(loopback());
  const Bytes jpeg = make_jpeg(640, 480);
  ResizeOptions options;
  options.width_px = 123;
  options.quality = 61;
  const auto expected = Resizer().resize(jpeg, options);
  ASSERT_TRUE(expected);
  for (const std::size_t piece : {1000u, 70'000u}) {
    TestClient client(server.endpoint());
    const auto answer =
        client.ask(chunked("/v1/resize?size=123x&quality=61", text_of(jpeg), piece));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, text_of(expected->bytes));
  }
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/resize?quality=61&size=123x", text_of(jpeg)));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, text_of(expected->bytes));
}

TEST(HttpServer, TakesForms) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const std::string body =
      "--x\r\nContent-Disposition: form-data; name=\"size\"\r\n\r\n50x\r\n"
      "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.jpg\"\r\n"
      "Content-Type: image/jpeg\r\n\r\n" +
      text_of(make_jpeg(200, 100)) + "\r\n--x--\r\n";
  std::string request = post("/v1/resize", body);
  request.replace(request.find("image/jpeg"), 10, "multipart/form-data; boundary=x");
  const auto answer = client.ask(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(size_of(answer->body), "50x25");
  const auto ask_with = [&](const std::string& query) {
    std::string twice = post("/v1/resize?" + query, body);
    twice.replace(twice.find("image/jpeg"), 10, "multipart/form-data; boundary=x");
    return client.ask(twice);
  };
  const auto others = ask_with("quality=50");
  ASSERT_TRUE(others);
  EXPECT_EQ(others->status, 200) << others->body;
  for (const char* query : {"size=60x", "size=50x"}) {
    const auto refused = ask_with(query);
    ASSERT_TRUE(refused);
    EXPECT_EQ(refused->status, 400) << query;
    EXPECT_EQ(json::parse(refused->body)["error"]["about"], "size") << refused->body;
  }
}

TEST(HttpServer, Inspects) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/inspect", text_of(make_jpeg(64, 48))));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->field("content-type"), "application/json");
  EXPECT_EQ(json::parse(answer->body)["frame"]["w"], 64);
  const auto wrong = client.ask(post("/v1/inspect", "no picture"));
  ASSERT_TRUE(wrong);
  EXPECT_EQ(wrong->status, 422);
  EXPECT_EQ(json::parse(wrong->body)["error"]["class"], "invalid_input");
}

// Each scan of ten bytes would be some two hundred bytes of the answer, and a kilobyte of memory.
TEST(HttpServer, InspectsNoMoreScansThanAPictureNeeds) {
  std::string file("\xFF\xD8\xFF\xDB\0\x43\0", 7);
  file.append(64, '\1');
  file.append("\xFF\xC2\0\x0B\x08\0\x08\0\x08\1\1\x11\0", 13);
  file.append("\xFF\xC4\0\x14\0\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 22);
  for (int i = 0; i < 100'000; ++i) file.append("\xFF\xDA\0\x08\1\1\0\0\0\0", 10);
  file.append("\xFF\xD9");
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/inspect", file));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 422);
  EXPECT_LT(answer->body.size(), 1000u);
  EXPECT_EQ(json::parse(answer->body)["error"]["class"], "too_large") << answer->body;
}

TEST(HttpServer, TellsHowItIs) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  for (const char* path : {"/livez", "/readyz", "/health"}) {
    const auto answer = client.ask(get(path));
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 200) << path;
    EXPECT_EQ(answer->body, "ok\n") << path;
    EXPECT_EQ(answer->field("cache-control"), "no-cache") << path;
  }
}

TEST(HttpServer, HeadTellsTheTruth) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto answer = client.ask("HEAD /livez HTTP/1.1\r\nHost: a\r\n\r\n", false);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->field("content-length"), "3");
  EXPECT_EQ(client.ask("HEAD /nothing HTTP/1.1\r\nHost: a\r\n\r\n", false)->status, 404);
  EXPECT_EQ(client.ask(get("/livez"))->status, 200) << "the connection goes on";
}

struct Refusal {
  const char* name;
  std::string request;
  int status;
  std::string field = {};  ///< that the answer has
};

TEST(HttpServer, RefusesWithTheRightStatus) {
  TestServer server(loopback());
  const std::string jpeg = text_of(make_jpeg(64, 48));
  const Refusal cases[] = {
      {"option", post("/v1/resize?quality=101", jpeg), 400},
      {"unknown", post("/v1/resize?sise=1x", jpeg), 400},
      {"escape", post("/v1/resize?size=%", jpeg), 400},
      {"length", "POST /v1/resize HTTP/1.1\r\nHost: a\r\n\r\n", 411},
      {"large", "POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 999999999\r\n\r\n", 413},
      {"type",
       "POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Type: image/png\r\nContent-Length: "
       "1\r\n\r\nx",
       415},
      {"coding", post("/v1/resize", jpeg, "Content-Encoding: gzip\r\n"), 415},
      {"empty", post("/v1/resize", ""), 422},
      {"picture", post("/v1/resize", "GIF89a"), 422},
      {"cut", post("/v1/resize?strict", jpeg.substr(0, jpeg.size() / 2)), 422},
      {"method", "DELETE /v1/resize HTTP/1.1\r\nHost: a\r\n\r\n", 405, "allow"},
      {"get", get("/v1/resize"), 405, "allow"},
      {"path", get("/v1/nothing"), 404},
      {"body", "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\nx", 400},
      {"version", "GET / HTTP/2.0\r\n\r\n", 505},
      {"coding2", "POST /v1/resize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501},
      {"expect", post("/v1/resize", jpeg, "Expect: much\r\n"), 417},
      {"chunk", "POST /v1/resize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
       400}};
  for (const Refusal& refusal : cases) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(refusal.request);
    ASSERT_TRUE(answer) << refusal.name;
    EXPECT_EQ(answer->status, refusal.status) << refusal.name << ": " << answer->body;
    EXPECT_EQ(answer->field("cache-control"), "") << refusal.name;
    const bool has_field = refusal.field.empty() || !answer->field(refusal.field).empty();
    EXPECT_TRUE(has_field) << refusal.name;
    if (answer->field("content-type") == "application/json") {
      const json error = json::parse(answer->body)["error"];
      EXPECT_TRUE(error["code"].is_string() && error["message"].is_string()) << refusal.name;
    }
  }
  EXPECT_TRUE(server.idle());
}

TEST(HttpServer, NamesTheWrongOption) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/resize?quality=101", "x"));
  ASSERT_TRUE(answer);
  const json error = json::parse(answer->body)["error"];
  EXPECT_EQ(error["about"], "quality");
  EXPECT_NE(error["message"].get<std::string>().find("accepted"), std::string::npos);
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  std::string all;
  for (int i = 1; i <= 40; ++i) {
    const std::string id = "X-Request-ID: r" + std::to_string(i) + "\r\n";
    const Bytes jpeg = make_jpeg(i % 2 == 0 ? 200 : 32, 16);
    all += i % 3 == 0 ? get("/livez", id) : post("/v1/resize?size=16x", text_of(jpeg), id);
  }
  ASSERT_TRUE(client.send(all));
  for (int i = 1; i <= 40; ++i) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(answer->status, 200) << i;
    EXPECT_EQ(answer->field("x-request-id"), "r" + std::to_string(i));
  }
}

TEST(HttpServer, ContinuesWhoAsks) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const std::string jpeg = text_of(make_jpeg(64, 48));
  const std::string request = post("/v1/resize?size=32x", jpeg, "Expect: 100-continue\r\n");
  const std::string head = request.substr(0, request.size() - jpeg.size());
  ASSERT_TRUE(client.send(head));
  const auto go_on = client.receive();
  ASSERT_TRUE(go_on);
  EXPECT_EQ(go_on->status, 100);
  EXPECT_EQ(client.ask(jpeg)->status, 200);
  // Refused before the body: no 100.
  TestClient refused(server.endpoint());
  EXPECT_EQ(refused.ask(post("/v1/resize?size=0x", "", "Expect: 100-continue\r\n"))->status, 400);
}

TEST(HttpServer, ListensOnUnixSockets) {
  const std::string path = testing::TempDir() + "fw-http-" + std::to_string(::getpid());
  ServiceSettings settings = loopback();
  settings.listen = {"unix:" + path, "127.0.0.1:0"};
  settings.threads = 2;
  TestServer server(settings);
  for (std::size_t i = 0; i < 8; ++i) {
    TestClient client(server.endpoint(i % 2));
    const auto answer = client.ask(post("/v1/resize?size=16x", text_of(make_jpeg(32, 32))));
    ASSERT_TRUE(answer) << i;
    EXPECT_EQ(size_of(answer->body), "16x16");
  }
  server.stop();
  EXPECT_NE(::access(path.c_str(), F_OK), 0) << "the socket's file is left";
}

TEST(HttpServer, RefusesDescriptorsOverUnixSockets) {
  if (!framewire::test::can_refuse_files()) GTEST_SKIP() << "Linux before 6.16 accepts them";
  const std::string path = testing::TempDir() + "fw-http-files-" + std::to_string(::getpid());
  ServiceSettings settings = loopback();
  settings.listen = {"unix:" + path};
  TestServer server(settings);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  const base::FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address),
            0);
  EXPECT_EQ(framewire::test::send_file(socket.get(), "GET", STDERR_FILENO), EPERM);
}

TEST(HttpServer, APortThatAnotherServerHasIsAnError) {
  ServiceSettings settings = loopback();
  settings.threads = 2;
  TestServer first(settings);
  settings.listen = {first.endpoint()};
  const auto second = Server::start(settings, first.engine(), {});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code(), StatusCode::kIoError);
  EXPECT_NE(second.error().message().find("Address already in use"), std::string::npos)
      << second.error().message();
  TestClient client(first.endpoint());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  first.stop();
  TestServer third(settings);  // connections that have ended keep nobody from the port
  EXPECT_EQ(TestClient(third.endpoint()).ask(get("/livez"))->status, 200);
}

TEST(HttpServer, LeavesASuccessorsSocketAlone) {
  const std::string path = testing::TempDir() + "fw-http-next-" + std::to_string(::getpid());
  ServiceSettings settings = loopback();
  settings.listen = {"unix:" + path};
  TestServer first(settings);
  ASSERT_EQ(::rename(path.c_str(), (path + ".old").c_str()), 0);
  TestServer second(settings);
  first.stop();
  TestClient client(second.endpoint());
  ASSERT_TRUE(client.connected());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  (void)::unlink((path + ".old").c_str());
}

TEST(HttpServer, ReplacesASocketThatNobodyListensOn) {
  const std::string path = testing::TempDir() + "fw-http-stale-" + std::to_string(::getpid());
  ServiceSettings settings = loopback();
  settings.listen = {"unix:" + path};
  auto first = std::make_unique<TestServer>(settings);
  EXPECT_THROW(TestServer second(settings), std::runtime_error) << "the first one still listens";
  first.reset();
  ASSERT_EQ(::close(::creat(path.c_str(), 0600)), 0);
  EXPECT_THROW(TestServer second(settings), std::runtime_error) << "a file is no socket";
  ASSERT_EQ(::unlink(path.c_str()), 0);
}

TEST(HttpServer, KeepsTheClientsRequestId) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(get("/livez", "X-Request-ID: a_B-9\r\n"))->field("x-request-id"), "a_B-9");
  for (const std::string& bad :
       {std::string("no good!"), std::string(), std::string("a/b"), std::string(65, 'a')}) {
    const auto answer = client.ask(get("/livez", "X-Request-ID: " + bad + "\r\n"));
    ASSERT_TRUE(answer);
    EXPECT_TRUE(std::regex_match(answer->field("x-request-id"), std::regex("[0-9a-f]{32}")));
  }
}

TEST(HttpServer, WritesALineOfJsonForEachRequest) {
  TestServer server(loopback());
  {
    TestClient client(server.endpoint());
    (void)client.ask(
        post("/v1/resize?size=16x", text_of(make_jpeg(32, 32)), "X-Request-ID: one\r\n"));
    (void)client.ask("HEAD /livez HTTP/1.1\r\nHost: t\r\n\r\n", false);
    (void)client.ask(get("/\"\x01\xFF", "X-Request-ID: two\r\n"));
    (void)client.ask(get("/\"\xFF", "X-Request-ID: three\r\n"));
  }
  server.stop();
  std::istringstream lines(server.log());
  std::string line;
  std::vector<json> all;
  while (std::getline(lines, line)) all.push_back(json::parse(line));
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all[0]["id"], "one");
  EXPECT_EQ(all[0]["status"], 200);
  EXPECT_EQ(all[0]["codec"], "turbo");
  EXPECT_EQ(all[0]["client"], "127.0.0.1");
  EXPECT_GT(all[0]["bytes_out"], 0);
  EXPECT_EQ(all[1]["bytes_out"], 0) << "HEAD";
  EXPECT_EQ(all[2]["status"], 400);
}

TEST(HttpServer, ClosesWhenAsked) {
  TestServer server(loopback());
  for (const std::string& request :
       {get("/livez", "Connection: close\r\n"), std::string("GET /livez HTTP/1.0\r\n\r\n")}) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(request);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->field("connection"), "close");
    EXPECT_TRUE(client.closed_within(9s));
  }
}

TEST(HttpDrain, NothingAcceptedIsLost) {
  ServiceSettings settings = loopback();
  settings.threads = 2;
  settings.drain_timeout_ms = 120'000;
  TestServer server(settings);
  const std::string request = post("/v1/resize?size=900x", text_of(make_jpeg(1600, 1200)));
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 12; ++i) {
    clients.push_back(std::make_unique<TestClient>(server.endpoint()));
    ASSERT_TRUE(clients.back()->send(request));
  }
  TestClient idle(server.endpoint());
  ASSERT_EQ(idle.ask(get("/readyz"))->status, 200);
  auto ending = std::async(std::launch::async, [&] { return server.server().drain(); });
  for (auto& client : clients) {
    const auto answer = client->receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_TRUE(client->closed_within(9s));
  }
  EXPECT_TRUE(idle.closed_within(9s));
  EXPECT_TRUE(ending.get());
  EXPECT_FALSE(TestClient(server.endpoint()).connected());
}

TEST(HttpDrain, ReadinessFailsFirst) {
  ServiceSettings settings = loopback();
  settings.drain_delay_ms = 5000;
  TestServer server(settings);
  auto ending = std::async(std::launch::async, [&] { return server.server().drain(); });
  EXPECT_TRUE(within_a_minute([&] {
    const auto ready = TestClient(server.endpoint()).ask(get("/readyz"));
    return ready && ready->status == 503;
  }));
  {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.connected()) << "the listener is still open";
    EXPECT_EQ(client.ask(get("/readyz"))->status, 503);
    EXPECT_TRUE(client.closed_within(9s));
    TestClient alive(server.endpoint());
    EXPECT_EQ(alive.ask(get("/livez"))->status, 200);
  }
  EXPECT_TRUE(ending.get());
}

}  // namespace
}  // namespace framewire::service::http::test
