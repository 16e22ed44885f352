// Pictures by URL: originals from a folder and from origins, conditions, sharing of equal work.
#include <gtest/gtest.h>
#include <atomic>
#include <list>
#include <set>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
namespace scripted = service::test;

ServiceSettings with_folder(const scripted::TemporaryFolder& folder) {
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  return settings;
}

TEST(HttpImages, ServesAFolder) {
  const scripted::TemporaryFolder folder;
  folder.write("holiday/beach.jpg", text_of(make_jpeg(400, 300)));
  TestServer server(with_folder(folder));
  TestClient client(server.endpoint());
  for (const char* source : {"plain/holiday/beach.jpg", "plain/local:///holiday/beach.jpg"}) {
    const auto answer = client.ask(get(std::string("/unsafe/rs:fit:200:0/q:70/") + source));
    ASSERT_TRUE(answer) << source;
    EXPECT_EQ(answer->status, 200) << answer->body;
    EXPECT_EQ(size_of(answer->body), "200x150");
    EXPECT_EQ(answer->field("cache-control"), "max-age=31536000, public");
    EXPECT_EQ(answer->field("content-disposition"), "inline; filename=\"beach.jpg\"");
    EXPECT_NE(answer->field("server-timing").find("fetch;dur="), std::string::npos);
    EXPECT_NE(answer->field("last-modified"), "");
  }
  EXPECT_EQ(client.ask(get("/unsafe/plain/holiday/none.jpg"))->status, 404);
  EXPECT_EQ(client.ask(get("/unsafe/plain/http://images.test/a.jpg"))->status, 404)
      << "origins are off";
  EXPECT_TRUE(server.idle());
}

// A picture is sent whole: a part of it is no use to anybody, and may come from another
// computation.
TEST(HttpImages, RangesAreNotServed) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  TestServer server(with_folder(folder));
  TestClient client(server.endpoint());
  const std::string target = "/unsafe/w:200/plain/a.jpg";
  const auto whole = client.ask(get(target));
  for (const char* range : {"bytes=0-99", "bytes=100-", "bytes=-1", "bytes=0-0,5-9", "lines=1-2"}) {
    const auto answer =
        client.ask("GET " + target + " HTTP/1.1\r\nHost: localhost\r\nRange: " + range +
                   "\r\nIf-Range: " + whole->field("etag") + "\r\n\r\n");
    ASSERT_TRUE(answer) << range;
    EXPECT_EQ(answer->status, 200) << range;
    EXPECT_EQ(answer->body, whole->body) << range;
    EXPECT_EQ(answer->field("content-range"), "") << range;
    EXPECT_NE(answer->field("accept-ranges"), "bytes") << range;
  }
}

TEST(HttpImages, TheEtagBusterMakesEveryEtagAnother) {
  const auto script = scripted::answering([](const std::string& head) -> std::string {
    if (head.find("If-None-Match: \"abc\"") != std::string::npos) {
      return "HTTP/1.1 304 Not Modified\r\nETag: \"abc\"\r\n\r\n";
    }
    const std::string body = text_of(make_jpeg(400, 300));
    return "HTTP/1.1 200 OK\r\nETag: \"abc\"\r\nContent-Length: " + std::to_string(body.size()) +
           "\r\n\r\n" + body;
  });
  const ImageServer plain(script);
  ServiceSettings settings = loopback();
  settings.etag_buster = "second";
  const ImageServer busted(script, settings);
  const std::string before = plain.ask(kImageTarget)->field("etag");
  const std::string after = busted.ask(kImageTarget)->field("etag");
  EXPECT_NE(before, after);
  EXPECT_TRUE(after.starts_with("\"second/")) << after;
  EXPECT_EQ(busted.ask(kImageTarget, "If-None-Match: " + before + "\r\n")->status, 200);
  EXPECT_EQ(busted.ask(kImageTarget, "If-None-Match: " + after + "\r\n")->status, 304);
  EXPECT_EQ(busted.ask("/unsafe/raw:1/plain/http://images.test/a.jpg")->status, 403);
}

TEST(HttpImages, PresetsComeFromAFile) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = with_folder(folder);
  settings.url.presets = {"small=w:50"};
  const std::string good = "\xEF\xBB\xBF# sizes\n\n thumb = w:100 \r\nboth=pr:small:thumb/h:20\n";
  settings.presets_file = folder.write("presets", good).string();
  TestServer server(settings);
  TestClient client(server.endpoint());
  EXPECT_EQ(size_of(client.ask(get("/unsafe/pr:thumb/plain/a.jpg"))->body), "100x75");
  EXPECT_EQ(size_of(client.ask(get("/unsafe/pr:small/plain/a.jpg"))->body), "50x38");
  const std::pair<const char*, int> bad[] = {{"a=w:1\nnonsense\n", 2},
                                             {"a=w:1\n\na=w:2\n", 3},
                                             {"#\na=w:1\nb=w:none\n", 3},
                                             {"small=w:1", 1},
                                             {"a=nothing:1", 1}};
  for (const auto& [text, line] : bad) {
    settings.presets_file = folder.write("bad", text).string();
    const auto started = Server::start(settings, server.engine(), {});
    ASSERT_FALSE(started) << text;
    EXPECT_EQ(started.error().subject(), settings.presets_file + ":" + std::to_string(line))
        << text;
  }
  settings.presets_file = folder.write("bad", std::string((1u << 20) + 1, '#')).string();
  EXPECT_EQ(Server::start(settings, server.engine(), {}).error().code(), StatusCode::kTooLarge);
  settings.presets_file = "/no/such/file";
  EXPECT_EQ(Server::start(settings, server.engine(), {}).error().code(), StatusCode::kIoError);
}

TEST(HttpImages, NotModifiedCostsNoDecoding) {
  const scripted::TemporaryFolder folder;
  const auto file = folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  std::this_thread::sleep_for(150ms);  // until its times of change say enough
  TestServer server(with_folder(folder));
  TestClient client(server.endpoint());
  const auto first = client.ask(get("/unsafe/w:100/plain/a.jpg"));
  ASSERT_TRUE(first);
  const std::string etag = first->field("etag");
  ASSERT_TRUE(etag.starts_with('"') && etag.ends_with('"')) << etag;
  const auto images = server.engine().stats().host_images;
  const std::string by_date = "If-Modified-Since: " + first->field("last-modified");
  for (const std::string& condition : {"If-None-Match: " + etag, "If-None-Match: \"x\", W/" + etag,
                                       "If-None-Match: \"x\"\r\nIf-None-Match: " + etag,
                                       std::string("If-None-Match: *"), by_date}) {
    const auto again = client.ask(get("/unsafe/width:100/plain/a.jpg", condition + "\r\n"));
    ASSERT_TRUE(again);
    EXPECT_EQ(again->status, 304) << condition;
    EXPECT_EQ(again->field("etag"), condition == by_date ? "" : etag) << condition;
    EXPECT_EQ(again->field("cache-control"), "max-age=31536000, public");
    EXPECT_EQ(again->body, "");
  }
  EXPECT_EQ(server.engine().stats().host_images, images + 1) << "only * has it made";
  // Other options make another picture; another original, too.
  EXPECT_EQ(client.ask(get("/unsafe/w:101/plain/a.jpg", "If-None-Match: " + etag + "\r\n"))->status,
            200);
  folder.write("a.jpg", text_of(make_jpeg(200, 300)));
  std::this_thread::sleep_for(150ms);
  const auto changed =
      client.ask(get("/unsafe/w:100/plain/a.jpg", "If-None-Match: " + etag + "\r\n"));
  EXPECT_EQ(changed->status, 200);
  EXPECT_EQ(size_of(changed->body), "100x150");
  EXPECT_NE(changed->field("etag"), etag);
}

TEST(HttpImages, RevalidatesWithTheOrigin) {
  const std::string jpeg = text_of(make_jpeg(400, 300));
  std::atomic<int> conditional = 0;
  const ImageServer images(scripted::answering([&](const std::string& head) {
    if (head.find("If-None-Match: \"abc\"") == std::string::npos) {
      return scripted::ok(jpeg, "ETag: \"abc\"\r\n");
    }
    ++conditional;
    return scripted::status(304, "ETag: \"abc\"\r\n");
  }));
  const auto first = images.ask(kImageTarget);
  ASSERT_TRUE(first);
  EXPECT_EQ(first->status, 200) << first->body;
  const std::string etag = first->field("etag");
  EXPECT_EQ(images.ask(kImageTarget, "If-None-Match: " + etag + "\r\n")->status, 304);
  EXPECT_EQ(conditional, 1);
  // The origin's own ETag is none of ours: it names no options.
  EXPECT_EQ(images.ask(kImageTarget, "If-None-Match: \"abc\"\r\n")->status, 200);
  EXPECT_EQ(conditional, 1);
}

TEST(HttpImages, EqualRequestsShareOneComputation) {
  const std::string jpeg = text_of(make_jpeg(400, 300));
  std::atomic<int> fetches = 0;
  std::atomic<bool> go = false;
  ServiceSettings settings = loopback();
  settings.threads = 3;
  const ImageServer images(scripted::answering([&](const std::string&) {
                             ++fetches;
                             while (!go) std::this_thread::sleep_for(5ms);
                             return scripted::ok(jpeg);
                           }),
                           settings);
  std::list<TestClient> clients;
  const char* spellings[] = {
      "/unsafe/w:100/q:70/plain/http://images.test/a.jpg",
      "/_/q:70/width:100/plain/http://images.test/a.jpg",
      "/unsafe/rs:fit:100/quality:70/fn:other/plain/http://images.test/a.jpg"};
  for (int i = 0; i < 12; ++i) {
    clients.emplace_back(images.server->endpoint());
    ASSERT_TRUE(clients.back().send(get(spellings[i % 2])));
  }
  EXPECT_TRUE(within_a_minute([&] { return images.are_under_way(12); }));
  EXPECT_EQ(images.server->server().state().requests, 1u);
  go = true;
  std::set<std::string> bodies;
  for (TestClient& client : clients) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    bodies.insert(answer->body);
  }
  EXPECT_EQ(bodies.size(), 1u);
  EXPECT_EQ(fetches, 1);
  EXPECT_EQ(images.server->engine().stats().host_images, 1u);
  EXPECT_TRUE(images.server->idle());
  // Nothing is kept: the next request is a computation of its own.
  EXPECT_EQ(images.ask(spellings[2])->field("content-disposition"),
            "inline; filename=\"other.jpg\"");
  EXPECT_EQ(fetches, 2);
}

TEST(HttpImages, SignaturesGoBeforeAllElse) {
  ServiceSettings settings = loopback();
  settings.url.keys = {"943b421c9eb07c830af81030552c86009268de4e532ba2ee2eab8247c6da0881"};
  settings.url.salts = {"520f986b998545b4785e0defbc4f3c1203f22de2374a3d53cb7a7fe9fea309c5"};
  const std::string jpeg = text_of(make_jpeg(40, 30));
  const ImageServer images(
      scripted::answering([&](const std::string&) { return scripted::ok(jpeg); }), settings);
  EXPECT_EQ(images.ask(kImageTarget)->status, 403);
  EXPECT_EQ(images.ask("/unsafe/nonsense:1/plain/http://images.test/a.jpg")->status, 403);
  EXPECT_EQ(images.origin.connections(), 0);
}

TEST(HttpImages, ErrorsNameTheOptionOnce) {
  const ImageServer images(scripted::answering([](const std::string&) { return ""; }));
  const auto told = [&](const std::string& options) {
    const auto answer = images.ask("/unsafe/" + options + "/plain/http://images.test/a.jpg");
    return answer ? answer->body : "nothing";
  };
  EXPECT_EQ(told("w:x"), "width: found 'x'; accepted: a whole number from 0 to 1000000\n");
  EXPECT_EQ(told("w:1000001"), "width: found 1000001; accepted: 0 to 1000000\n");
  EXPECT_EQ(told("f:png"), "format: this service writes jpeg alone, not png\n");
  EXPECT_EQ(told("wdith:1"), "wdith: there is no such option\n");
}

TEST(HttpImages, NamesFilesSafely) {
  const std::string jpeg = text_of(make_jpeg(40, 30));
  const ImageServer images(
      scripted::answering([&](const std::string&) { return scripted::ok(jpeg); }));
  const auto answer = images.ask("/unsafe/att:1/plain/http://images.test/gr%C3%BC%C3%9Fe%22x.jpg");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  const std::string field = answer->field("content-disposition");
  EXPECT_TRUE(field.starts_with("attachment; filename=\"")) << field;
  EXPECT_NE(field.find("filename*=UTF-8''gr%C3%BC%C3%9Fe%22x.jpg"), std::string::npos) << field;
}

TEST(HttpImages, HasAPageAndTellsItsOptions) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  const auto page = client.ask(get("/"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_EQ(page->field("content-type"), "text/html; charset=utf-8");
  EXPECT_NE(page->field("content-security-policy").find("frame-ancestors 'none'"),
            std::string::npos);
  const auto options = client.ask(get("/v1/options"));
  ASSERT_TRUE(options);
  EXPECT_NE(options->body.find("\"size\""), std::string::npos);
  EXPECT_EQ(options->body.find("max-input-bytes"), std::string::npos);
  ServiceSettings without = loopback();
  without.page = false;
  TestServer bare(without);
  TestClient other(bare.endpoint());
  EXPECT_EQ(other.ask(get("/"))->status, 404);
}

}  // namespace
}  // namespace framewire::service::http::test
