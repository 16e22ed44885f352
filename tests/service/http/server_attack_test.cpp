// What clients that mean harm, or break down, do to the server.
#include <gtest/gtest.h>
#include <list>
#include <tests/service/http/client.hpp>
#include <tests/service/http/other_address.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;

TEST(HttpServerAttack, SlowHeadsAreCutOff) {
  TestServer server(impatient());
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send("GET / HTTP/1.1\r\nHost: a\r\n"));
  int sent = 0;
  while (sent < 500 && client.send("X")) {
    ++sent;
    std::this_thread::sleep_for(20ms);
  }
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 408);
  EXPECT_LT(sent, 500);
}

TEST(HttpServerAttack, SlowBodiesAreCutOff) {
  TestServer server(impatient());
  for (const std::string framing : {"Content-Length: 5000", "Transfer-Encoding: chunked"}) {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\n" + framing + "\r\n\r\n"));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << framing;
    EXPECT_EQ(answer->status, 408) << framing;
    EXPECT_TRUE(client.closed_within(kPatience)) << framing;
  }
  EXPECT_TRUE(server.idle());
}

// Time is for bytes that come, not for those that are announced.
TEST(HttpServerAttack, LongBodiesThatStopAreCutOff) {
  TestServer server(impatient());
  const std::string head =
      "POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 60000000\r\n\r\n";
  for (const std::size_t sent : {0u, 10'000u}) {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.send(head + std::string(sent, 'x')));
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << sent;
    EXPECT_EQ(answer->status, 408) << sent;
  }
  EXPECT_TRUE(server.idle());
}

TEST(HttpServerAttack, LongAnswersThatAreNotReadEnd) {
  const service::test::TemporaryFolder folder;
  folder.write("large", std::string(60'000'000, 'x'));
  ServiceSettings settings = impatient();
  settings.source.root = folder.path().string();
  settings.allow_raw = true;
  TestServer server(settings);
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send(get("/unsafe/raw:1/plain/large")));
  EXPECT_TRUE(within_a_minute(
      [&] { return server.log().find("the answer was not read") != std::string::npos; }));
  EXPECT_TRUE(server.idle());
}

// Two bodies, or two answers, take all the room, and have an hour to move.
struct TwoTakeAll {
  TwoTakeAll() { folder.write("large", std::string(50'000'000, 'x')); }
  [[nodiscard]] ServiceSettings settings() const {
    ServiceSettings settings = loopback();
    settings.bytes_under_way = 100'000'000;
    settings.read_timeout_ms = settings.write_timeout_ms = 3'600'000;
    settings.source.root = folder.path().string();
    settings.allow_raw = true;
    return settings;
  }
  service::test::TemporaryFolder folder;
};

bool hold(TestServer& server, std::list<TestClient>& clients, const std::string& request) {
  clients.emplace_back(server.endpoint());
  return clients.back().send(request);
}

bool is_full(TestServer& server) {
  return within_a_minute([&] { return server.server().state().bytes >= 100'000'000; });
}

bool serves_others(TestServer& server) {
  return within_a_minute([&] {
    const OtherAddress other(server.endpoint());
    return other.send(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)))) &&
           other.status() == 200;
  });
}

// What stands still gives way once others are refused, and before its time.
TEST(HttpServerAttack, BodiesThatStandStillGiveWay) {
  const TwoTakeAll two;
  TestServer server(two.settings());
  std::list<TestClient> clients;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(hold(server, clients,
                     "POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 50000000\r\n\r\n"));
  }
  ASSERT_TRUE(is_full(server));
  EXPECT_TRUE(serves_others(server));
  EXPECT_TRUE(within_a_minute([&] { return server.server().state().bytes == 50'000'000; }))
      << "its share is left to it";
}

TEST(HttpServerAttack, AnswersThatStandStillGiveWay) {
  const TwoTakeAll two;
  TestServer server(two.settings());
  std::list<TestClient> clients;
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(
        hold(server, clients, get("/unsafe/raw:1/cb:" + std::to_string(i) + "/plain/large")));
  }
  ASSERT_TRUE(is_full(server));
  EXPECT_TRUE(serves_others(server));
  EXPECT_TRUE(within_a_minute(
      [&] { return server.log().find("while others waited") != std::string::npos; }));
}

// A length is no picture: what may come of it is judged, and not kept from others.
TEST(HttpServerAttack, LengthsTakeNoPixelsFromOthers) {
  ServiceSettings settings = loopback();
  settings.pixels_under_way = 1'000'000;
  TestServer server(settings);
  TestClient holding(server.endpoint());
  ASSERT_TRUE(
      holding.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"));
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().bytes != 0; }));
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16))))->status, 200);
}

// A body that has come whole waits for room: it was admitted, and is not sent for nothing.
TEST(HttpServer, WholeBodiesWaitForRoomForTheirPixels) {
  ServiceSettings settings = loopback();
  settings.pixels_under_way = 100'000;
  settings.bytes_under_way = 100'000'000;
  settings.request_timeout_ms = 300'000;
  TestServer server(settings);
  const std::string request = post("/v1/resize?size=8x", text_of(make_jpeg(64, 48)));
  ClientAdmission& admission = server.server().admission();
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send(std::string_view(request).substr(0, request.size() - 1)));
  ASSERT_TRUE(within_a_minute([&] { return admission.usage().requests == 1; }));
  // The address has more than its share meanwhile, somebody has been refused, and no pixel is left.
  const ClientKey same{std::uint64_t{1} << 32 | 0x7F000001};
  ClientAdmission::Ticket greedy, pixels, refused;
  ASSERT_EQ(admission.admit(same, 60'000'000, 0, greedy), ClientAdmission::Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(ClientKey{3}, 0, 100'000, pixels), ClientAdmission::Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(ClientKey{4}, 90'000'000, 0, refused,
                            ClientAdmission::Clock::now() + std::chrono::hours(1)),
            ClientAdmission::Verdict::kOverBudget);
  ASSERT_TRUE(client.send(std::string_view(request).substr(request.size() - 1)));
  // Several looks, each of which would have been a refusal.
  std::this_thread::sleep_for(300ms);
  EXPECT_EQ(admission.usage().pixels, 100'000u);
  pixels.give_back();
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  greedy.give_back();
  EXPECT_TRUE(server.idle());
}

TEST(HttpServerAttack, IdleConnectionsEnd) {
  TestServer server(impatient());
  TestClient silent(server.endpoint());
  TestClient used(server.endpoint());
  EXPECT_EQ(used.ask(get("/livez"))->status, 200);
  EXPECT_TRUE(silent.closed_within(kPatience));
  EXPECT_TRUE(used.closed_within(kPatience));
}

// Bodies that take long move out of the blocks that they share with others, and still arrive.
TEST(HttpServerAttack, BodiesSurviveTheMoveOutOfEngineMemory) {
  TestServer server(loopback());
  const std::string jpeg = text_of(make_jpeg(800, 600));
  const std::string request = post("/v1/resize?size=80x", jpeg);
  TestClient client(server.endpoint());
  const std::size_t piece = request.size() / 8 + 1;
  for (std::size_t at = 0; at < request.size(); at += piece) {
    ASSERT_TRUE(client.send(std::string_view(request).substr(at, piece)));
    std::this_thread::sleep_for(150ms);
  }
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(size_of(answer->body), "80x60");
}

TEST(HttpServerAttack, AnswersThatNobodyReadsEnd) {
  ServiceSettings settings = impatient();
  TestServer server(settings);
  TestClient client(server.endpoint());
  const std::string request = post("/v1/inspect", text_of(make_jpeg(64, 48)));
  // Answers fill the sockets until the server can write no more.
  for (int i = 0; i < 3000; ++i) {
    if (!client.send(request)) break;
    if (server.log().find("\"status\":499") != std::string::npos) break;
  }
  EXPECT_TRUE(within_a_minute([&] { return server.server().state().connections == 0; }));
  EXPECT_TRUE(server.idle());
}

TEST(HttpServerAttack, VanishingClientsLeaveNothing) {
  TestServer server(loopback());
  const std::string request = post("/v1/resize?size=900x", text_of(make_jpeg(1600, 1200)));
  for (int i = 0; i < 30; ++i) {
    TestClient client(server.endpoint());
    const std::size_t cut =
        i % 3 == 0 ? request.size() : request.size() * static_cast<unsigned>(i) / 30;
    ASSERT_TRUE(client.send(std::string_view(request).substr(0, cut)));
    if (i % 2 == 0) client.reset();
  }
  EXPECT_TRUE(server.idle());
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(request)->status, 200);
  server.stop();
  EXPECT_NE(server.log().find("\"status\":499"), std::string::npos);
}

TEST(HttpServerAttack, EveryCutOfARequestEndsWell) {
  TestServer server(loopback());
  const std::string request = post("/v1/resize?size=8x", text_of(make_jpeg(16, 16)));
  for (std::size_t cut = 1; cut < request.size(); cut += 7) {
    TestClient client(server.endpoint());
    ASSERT_TRUE(client.send(std::string_view(request).substr(0, cut)));
    client.end_sending();
    EXPECT_TRUE(client.closed_within(9s)) << cut;
  }
  EXPECT_TRUE(server.idle());
}

TEST(HttpServerAttack, ABodyThatEndsEarlyIsTold) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  ASSERT_TRUE(client.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc"));
  client.end_sending();
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
}

TEST(HttpServerAttack, NothingIsSmuggledBehindARefusedRequest) {
  TestServer server(loopback());
  const std::string inner = get("/livez", "X-Request-ID: smuggled\r\n");
  for (const std::string& request :
       {"POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: "
        "chunked\r\n\r\n0\r\n\r\n" +
            inner,
        "POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nContent-Length: 99\r\n\r\n" +
            inner,
        "GET /livez HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n" + inner,
        "POST /v1/nothing HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\n" + inner,
        "POST /v1/resize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\n" + inner,
        "GET /livez HTTP/1.1\r\nHost: a\r\nX: b\n\r\n" + inner}) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(request);
    ASSERT_TRUE(answer) << request;
    EXPECT_GE(answer->status, 400) << request;
    EXPECT_EQ(answer->field("connection"), "close") << request;
    EXPECT_TRUE(client.closed_within(9s)) << request;
    EXPECT_EQ(client.rest(), "") << "a second answer came: " << client.rest();
  }
  server.stop();
  EXPECT_EQ(server.log().find("smuggled"), std::string::npos);
}

TEST(HttpServerAttack, HeaderFloodsAreBounded) {
  ServiceSettings settings = loopback();
  settings.max_header_bytes = 4096;
  settings.max_target_bytes = 1024;
  settings.max_header_lines = 10;
  TestServer server(settings);
  std::string many;
  for (int i = 0; i < 11; ++i) many += "A: b\r\n";
  const std::pair<std::string, int> cases[] = {
      {get("/" + std::string(1024, 'a')), 414},
      {get("/" + std::string(100'000, 'a')), 414},
      {get("/livez", "X: " + std::string(5000, 'a') + "\r\n"), 431},
      {get("/livez", "X: " + std::string(1'000'000, 'a') + "\r\n"), 431},
      {get("/livez", many), 431}};
  for (const auto& [request, status] : cases) {
    TestClient client(server.endpoint());
    const auto answer = client.ask(request);
    ASSERT_TRUE(answer) << status;
    EXPECT_EQ(answer->status, status);
  }
}

TEST(HttpServerAttack, BudgetIsAskedBeforeTheBody) {
  ServiceSettings settings = loopback();
  settings.defaults.limits.max_input_bytes = 1 << 20;
  settings.bytes_under_way = 1 << 20;
  TestServer server(settings);
  TestClient greedy(server.endpoint());
  ASSERT_TRUE(
      greedy.send("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n"));
  ASSERT_TRUE(within_a_minute([&] { return server.server().state().bytes != 0; }));
  TestClient other(server.endpoint());
  const auto answer =
      other.ask("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
  ASSERT_TRUE(answer) << "the answer comes without the body";
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(answer->field("retry-after"), "1");
  EXPECT_EQ(answer->field("connection"), "close");
  greedy.reset();
  EXPECT_TRUE(server.idle());
  TestClient again(server.endpoint());
  EXPECT_EQ(again.ask(post("/v1/resize?size=8x", text_of(make_jpeg(16, 16))))->status, 200);
}

TEST(HttpServerAttack, AFullQueueSays429) {
  ServiceSettings settings = loopback();
  settings.queue = 2;
  TestServer server(settings);
  std::list<TestClient> waiting = hold_requests(server, 2);
  ASSERT_EQ(waiting.size(), 2u);
  TestClient client(server.endpoint());
  const auto answer =
      client.ask("POST /v1/resize HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 429);
  EXPECT_EQ(answer->field("retry-after"), "1");
  EXPECT_EQ(TestClient(server.endpoint()).ask(get("/livez"))->status, 200);
}

TEST(HttpServerAttack, PixelsThatAreOnlyClaimedTakeNoneOfTheBudget) {
  ServiceSettings settings = loopback();
  settings.pixels_under_way = 1'000'000;
  settings.defaults.limits.max_input_pixels = 500'000;
  TestServer server(settings);
  std::string jpeg = text_of(make_jpeg(16, 16));
  const auto frame = jpeg.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  jpeg.replace(frame + 5, 4, "\xFF\xFF\xFF\xFF");  // Y and X
  TestClient client(server.endpoint());
  const auto answer = client.ask(post("/v1/resize?size=8x", jpeg));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 422) << answer->body;
}

TEST(HttpServerAttack, MoreConnectionsThanTheBound) {
  ServiceSettings settings = loopback();
  settings.max_connections = 8;
  TestServer server(settings);
  std::list<TestClient> idle;
  for (int i = 0; i < 8; ++i) {
    idle.emplace_back(server.endpoint());
    ASSERT_EQ(idle.back().ask(get("/livez"))->status, 200);
  }
  // Idle connections make room, the oldest first.
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  EXPECT_TRUE(idle.front().closed_within(9s));
  EXPECT_TRUE(within_a_minute([&] { return server.server().state().connections <= 8; }));
}

TEST(HttpServerAttack, OneAddressDisplacesItsOwnConnections) {
  ServiceSettings settings = loopback();
  settings.max_connections = 4;
  TestServer server(settings);
  const OtherAddress other(server.endpoint());
  ASSERT_TRUE(other.answers());
  // The other's connection has waited longest when the many come.
  std::list<TestClient> many;
  for (int i = 0; i < 12; ++i) {
    many.emplace_back(server.endpoint());
    ASSERT_EQ(many.back().ask(get("/livez"))->status, 200) << i;
  }
  EXPECT_TRUE(other.answers()) << "its connection was closed for another address' sake";
  // Somebody new takes the place of one of the many.
  const OtherAddress second(server.endpoint());
  EXPECT_TRUE(second.answers());
  EXPECT_TRUE(other.answers());
}

TEST(HttpServerAttack, BusyConnectionsAreNotClosedForOthers) {
  ServiceSettings settings = loopback();
  settings.max_connections = 4;
  TestServer server(settings);
  std::list<TestClient> busy = hold_requests(server, 4);
  ASSERT_EQ(busy.size(), 4u);
  TestClient refused(server.endpoint());
  const auto answer = refused.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 503);
  EXPECT_EQ(busy.front().ask("no JPEG..")->status, 422);
}

TEST(HttpServerAttack, AnswersAreReadBesideABodyThatIsNot) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const std::string body(8'000'000, 'x');
  const auto answer = client.ask(post("/v1/resize?size=none", body));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(answer->field("connection"), "close");
}

TEST(HttpServerAttack, ChunkedBodiesAreBounded) {
  ServiceSettings settings = loopback();
  settings.defaults.limits.max_input_bytes = 100'000;
  TestServer server(settings);
  TestClient client(server.endpoint());
  std::string request = "POST /v1/resize HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (int i = 0; i < 200; ++i) request += "400\r\n" + std::string(1024, 'x') + "\r\n";
  const auto answer = client.ask(request);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 413);
  EXPECT_TRUE(server.idle());
}

TEST(HttpServerAttack, EmptyLinesForeverAreNoRequest) {
  TestServer server(impatient());
  TestClient client(server.endpoint());
  for (int i = 0; i < 500 && client.send("\r\n\r\n\r\n"); ++i) std::this_thread::sleep_for(10ms);
  EXPECT_TRUE(client.closed_within(kPatience));
}

}  // namespace
}  // namespace framewire::service::http::test
