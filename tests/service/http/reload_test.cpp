// New settings for a server that runs.
#include <gtest/gtest.h>
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <list>
#include <service/http/live_settings.hpp>
#include <tests/service/http/image_server.hpp>
#include <tests/service/support/temporary_folder.hpp>
#include <thread>

namespace framewire::service::http::test {
namespace {

using namespace std::chrono_literals;
namespace scripted = service::test;
using Names = std::vector<std::string>;

const std::string kPicture = "/unsafe/w:100/plain/http://images.test/a.jpg";

bool soon(const std::function<bool()>& true_at_last) {
  const auto until = std::chrono::steady_clock::now() + 60s;
  while (!true_at_last()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

/// An origin that keeps everybody waiting until it is told.
struct SlowOrigin {
  std::atomic<int> asked{0};
  std::atomic<bool> open{false};

  [[nodiscard]] std::function<void(scripted::Connection&)> script() {
    return [this](scripted::Connection& client) {
      while (!client.read_head().empty()) {
        ++asked;
        while (!open.load() && client.open()) std::this_thread::sleep_for(1ms);
        const std::string jpeg = text_of(make_jpeg(200, 150));
        client.send("HTTP/1.1 200 OK\r\nContent-Type: image/jpeg\r\nContent-Length: " +
                    std::to_string(jpeg.size()) + "\r\n\r\n" + jpeg);
      }
    };
  }
};

ServiceSettings with_origins() {
  ServiceSettings settings = loopback();
  settings.source.remote = true;
  return settings;
}

TEST(HttpReload, WhatIsLiveIsInTheTableAndCanBeReadBack) {
  std::size_t live = 0;
  for (const SettingRow& row : setting_rows()) {
    ServiceSettings settings;
    const std::string text = row.print(settings);
    if (!is_live(row.option.name)) continue;
    ++live;
    EXPECT_TRUE(row.parse(settings, text)) << row.option.name << " = '" << text << "'";
    EXPECT_EQ(row.print(settings), text) << row.option.name;
  }
  EXPECT_EQ(live, 64u) << "a name in the list that is in no table";
}

TEST(HttpReload, TellsWhatWasTakenOverAndWhatWaits) {
  ServiceSettings running;
  ServiceSettings wanted = running;
  EXPECT_EQ(merge_live(running, wanted).taken, Names());
  wanted.queue = 7;
  wanted.ttl_s = 3;
  wanted.url.keys = {"aa", "bb"};
  wanted.defaults.quality = 31;
  wanted.defaults.codec = CodecKind::kReference;
  const SettingsChange change = merge_live(running, wanted);
  EXPECT_EQ(change.taken, (Names{"keys", "ttl", "options"}));
  EXPECT_EQ(change.waiting, (Names{"queue", "codec"}));
  EXPECT_EQ(change.settings.ttl_s, 3u);
  EXPECT_EQ(change.settings.url.keys, wanted.url.keys);
  EXPECT_EQ(change.settings.queue, running.queue);
  EXPECT_EQ(change.settings.defaults.quality, 31);
  EXPECT_EQ(change.settings.defaults.codec, running.defaults.codec);
  EXPECT_EQ(merge_live(change.settings, change.settings).taken, Names());
}

// Memory that workers share for inputs is made once.
TEST(HttpReload, BytesOfAnInputWaitWhereThereAreWorkers) {
  ServiceSettings running;
  ServiceSettings wanted = running;
  wanted.defaults.limits.max_input_bytes *= 2;
  EXPECT_EQ(merge_live(running, wanted).taken, Names{"options"});
  running.workers = wanted.workers = 2;
  const SettingsChange change = merge_live(running, wanted);
  EXPECT_EQ(change.taken, Names());
  EXPECT_EQ(change.waiting, Names{"max-input-bytes"});
  EXPECT_EQ(change.settings.defaults.limits.max_input_bytes,
            running.defaults.limits.max_input_bytes);
}

TEST(HttpReload, HoldsFromTheNextRequestOn) {
  const scripted::TemporaryFolder one;
  const scripted::TemporaryFolder two;
  one.write("a.jpg", text_of(make_jpeg(400, 300)));
  two.write("b.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = loopback();
  settings.source.root = one.path().string();
  TestServer server(settings);
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(get("/unsafe/pr:small/plain/a.jpg"))->status, 404) << "no such preset";
  EXPECT_EQ(client.ask(get("/unsafe/w:50/plain/a.jpg"))->status, 200);
  settings.url.presets = {"small=w:50"};
  settings.source.root = two.path().string();
  settings.ttl_s = 17;
  settings.secret = "hush";
  settings.threads = 2;
  const auto change = server.server().reload(settings);
  ASSERT_TRUE(change) << change.error().to_string();
  EXPECT_EQ(change->waiting, (Names{"threads"}));
  EXPECT_EQ(client.ask(get("/unsafe/pr:small/plain/b.jpg"))->status, 403) << "without the secret";
  const std::string with_secret = "Authorization: Bearer hush\r\n";
  const auto answer = client.ask(get("/unsafe/pr:small/plain/b.jpg", with_secret));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(size_of(answer->body), "50x38");
  EXPECT_EQ(answer->field("cache-control"), "max-age=17, public");
  EXPECT_EQ(client.ask(get("/unsafe/w:50/plain/a.jpg", with_secret))->status, 404)
      << "the earlier folder";
  EXPECT_TRUE(soon([&] { return !server.server().end_earlier_settings(); }));
  EXPECT_EQ(client.ask(get("/unsafe/pr:small/plain/b.jpg", with_secret))->status, 200);
}

// Releases lie beside one another, and a link leads to the newest.
TEST(HttpReload, FindsTheFolderThatHasTheNameByThen) {
  const scripted::TemporaryFolder folder;
  folder.write("one/a.jpg", text_of(make_jpeg(400, 300)));
  folder.write("two/a.jpg", text_of(make_jpeg(400, 200)));
  const auto current = folder.path() / "current";
  std::filesystem::create_directory_symlink("one", current);
  ServiceSettings settings = loopback();
  settings.source.root = current.string();
  TestServer server(settings);
  TestClient client(server.endpoint());
  const auto size = [&] { return size_of(client.ask(get("/unsafe/w:40/plain/a.jpg"))->body); };
  EXPECT_EQ(size(), "40x30");
  std::filesystem::remove(current);
  ASSERT_TRUE(server.server().reload(settings)) << "a name that leads nowhere keeps what there was";
  EXPECT_EQ(size(), "40x30");
  std::filesystem::create_directory_symlink("two", current);
  EXPECT_EQ(size(), "40x30") << "nobody is told of another folder but by a reload";
  ASSERT_TRUE(server.server().reload(settings));
  EXPECT_EQ(size(), "40x20");
}

TEST(HttpReload, TellsOfFilesThatAreTheSameByName) {
  const scripted::TemporaryFolder folder;
  folder.write("one/a.jpg", text_of(make_jpeg(400, 300)));
  folder.write("two/a.jpg", text_of(make_jpeg(400, 300)));
  std::filesystem::create_directory_symlink("one", folder.path() / "current");
  ServiceSettings settings = loopback();
  settings.source.root = (folder.path() / "current").string();
  settings.url.presets = {"large=w:900"};
  settings.presets_file = folder.write("presets", "small=w:50\n").string();
  settings.fallback_image = folder.write("none.jpg", text_of(make_jpeg(64, 48))).string();
  TestServer server(settings);
  const auto contents = [&]() -> Names {
    const auto change = server.server().reload(settings);
    return change ? change->contents : Names{change.error().to_string()};
  };
  EXPECT_EQ(contents(), Names());
  folder.write("presets", "small=w:60\n");
  EXPECT_EQ(contents(), Names{"presets-file"});
  EXPECT_EQ(contents(), Names());
  folder.write("none.jpg", text_of(make_jpeg(48, 64)));
  std::filesystem::remove(folder.path() / "current");
  std::filesystem::create_directory_symlink("two", folder.path() / "current");
  EXPECT_EQ(contents(), (Names{"folder", "fallback-image"}));
  settings.url.presets = {"large=w:901"};
  const auto change = server.server().reload(settings);
  ASSERT_TRUE(change);
  EXPECT_EQ(change->contents, Names()) << "the setting has changed, not the file";
  EXPECT_EQ(change->taken, Names{"presets"});
}

TEST(HttpReload, MistakesChangeNothing) {
  const scripted::TemporaryFolder folder;
  folder.write("a.jpg", text_of(make_jpeg(400, 300)));
  ServiceSettings settings = loopback();
  settings.source.root = folder.path().string();
  TestServer server(settings);
  TestClient client(server.endpoint());
  ServiceSettings wrong = settings;
  wrong.url.presets = {"small=no_such_option:1"};
  wrong.ttl_s = 1;
  EXPECT_FALSE(server.server().reload(wrong));
  wrong = settings;
  wrong.source.root = "/nowhere/at/all";
  wrong.ttl_s = 1;
  const auto no_folder = server.server().reload(wrong);
  ASSERT_FALSE(no_folder);
  EXPECT_NE(no_folder.error().to_string().find("/nowhere/at/all"), std::string::npos);
  wrong = settings;
  wrong.source.allowed_sources = {"ftp:no"};
  EXPECT_FALSE(server.server().reload(wrong));
  wrong = settings;
  wrong.defaults.limits.max_input_bytes = settings.bytes_under_way + 1;
  EXPECT_FALSE(server.server().reload(wrong)) << "contradicts a setting that needs a restart";
  const auto answer = client.ask(get("/unsafe/w:50/plain/a.jpg"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_EQ(answer->field("cache-control"), "max-age=31536000, public");
}

TEST(HttpReload, RequestsKeepTheSettingsWithWhichTheyBegan) {
  SlowOrigin origin;
  ImageServer images(origin.script());
  TestClient before(images.server->endpoint());
  ASSERT_TRUE(before.send(get(kPicture)));
  ASSERT_TRUE(soon([&] { return origin.asked.load() == 1; }));
  ServiceSettings settings = with_origins();
  settings.source.allowed_sources = {"http://others.test/"};
  settings.ttl_s = 5;
  ASSERT_TRUE(images.server->server().reload(settings));
  // The same URL: it must not be answered by what was begun when it was allowed.
  EXPECT_EQ(images.ask(kPicture)->status, 404);
  EXPECT_TRUE(images.server->server().end_earlier_settings()) << "a request needs them";
  origin.open = true;
  const auto answer = before.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200) << answer->body;
  EXPECT_EQ(answer->field("cache-control"), "max-age=31536000, public");
  EXPECT_TRUE(soon([&] { return !images.server->server().end_earlier_settings(); }));
}

TEST(HttpReload, NoRequestFailsMeanwhile) {
  const scripted::TemporaryFolder one;
  const scripted::TemporaryFolder two;
  for (const auto* folder : {&one, &two}) folder->write("a.jpg", text_of(make_jpeg(64, 48)));
  ServiceSettings settings = loopback();
  settings.threads = 3;
  settings.source.root = one.path().string();
  TestServer server(settings);
  std::atomic<bool> ended{false};
  std::atomic<int> answered{0};
  std::atomic<int> failed{0};
  std::vector<std::thread> clients;
  for (int i = 0; i < 4; ++i) {
    clients.emplace_back([&] {
      TestClient client(server.endpoint());
      while (!ended.load()) {
        const auto answer = client.ask(get("/unsafe/w:32/plain/a.jpg"));
        ++(answer && answer->status == 200 ? answered : failed);
      }
    });
  }
  int reloads = 0;
  for (int i = 0; i < 100; ++i) {
    settings.source.root = (i % 2 == 0 ? two : one).path().string();
    settings.url.presets = {"p" + std::to_string(i) + "=w:1"};
    const auto change = server.server().reload(settings);
    reloads += change ? 1 : 0;
    const int seen = answered.load();
    EXPECT_TRUE(soon([&] { return answered.load() > seen || failed.load() != 0; }));
  }
  ended = true;
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(failed.load(), 0);
  EXPECT_GT(reloads, 50);
  EXPECT_TRUE(soon([&] { return !server.server().end_earlier_settings(); }));
}

TEST(HttpReloadAttack, SlowRequestsBoundHowManyEarlierSettingsAreKept) {
  SlowOrigin origin;
  ImageServer images(origin.script());
  std::list<TestClient> clients;
  ServiceSettings settings = with_origins();
  int reloads = 0;
  StatusCode refused = StatusCode::kInternal;
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(clients.emplace_back(images.server->endpoint()).send(get(kPicture)));
    ASSERT_TRUE(soon([&] { return origin.asked.load() == i + 1; }));
    settings.source.user_agent = "agent " + std::to_string(i);
    const auto change = images.server->server().reload(settings);
    if (!change) {
      refused = change.error().code();
      break;
    }
    ++reloads;
  }
  EXPECT_EQ(reloads, 8);
  EXPECT_EQ(refused, StatusCode::kBusy);
  origin.open = true;
  for (TestClient& client : clients) EXPECT_EQ(client.receive()->status, 200);
  ASSERT_TRUE(soon([&] { return !images.server->server().end_earlier_settings(); }));
  EXPECT_TRUE(images.server->server().reload(settings));
}

TEST(HttpReload, EndsWhileRequestsOfEarlierSettingsAreUnderWay) {
  SlowOrigin origin;
  ImageServer images(origin.script());
  TestClient client(images.server->endpoint());
  ASSERT_TRUE(client.send(get(kPicture)));
  ASSERT_TRUE(soon([&] { return origin.asked.load() == 1; }));
  ServiceSettings settings = with_origins();
  settings.source.user_agent = "another";
  ASSERT_TRUE(images.server->server().reload(settings));
  images.server->stop();
  EXPECT_FALSE(client.receive());
}

TEST(HttpReload, ThreadsTellThatTheyWork) {
  TestServer server(loopback());
  TestClient client(server.endpoint());
  EXPECT_EQ(client.ask(get("/livez"))->status, 200);
  EXPECT_TRUE(soon([&] { return server.server().slowest_thread() < 100ms; }));
}

}  // namespace
}  // namespace framewire::service::http::test
