// All of a store against moto, a server that others wrote.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <filesystem>
#include <store/digest.hpp>
#include <store/s3/small_fetch.hpp>
#include <tests/store/opened_store.hpp>
#include <tests/support/free_port.hpp>

namespace framewire::store {
namespace {

using namespace framewire::test;

class Moto {
 public:
  Moto() : port_(std::to_string(free_port())) {
    std::string program = FRAMEWIRE_MOTO_SERVER;
    const char* const named = std::getenv("FRAMEWIRE_MOTO_SERVER");
    if (named != nullptr) program = named;
    if (!std::filesystem::exists(program)) return;
    const char* const words[] = {program.c_str(), "-H", "127.0.0.1", "-p", port_.c_str(), nullptr};
    ::setenv("MOTO_S3_DEFAULT_MAX_KEYS", "7", 1);  // keys of a page
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    for (const int fd : {1, 2}) {
      posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_WRONLY, 0);
    }
    if (::posix_spawn(&process_, program.c_str(), &actions, nullptr,
                      const_cast<char* const*>(words), environ) != 0) {
      process_ = -1;
    }
    posix_spawn_file_actions_destroy(&actions);
  }
  ~Moto() {
    if (process_ < 0) return;
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  Moto(const Moto&) = delete;
  Moto& operator=(const Moto&) = delete;

  [[nodiscard]] bool started() const { return process_ >= 0; }
  [[nodiscard]] std::string url() const { return "http://127.0.0.1:" + port_; }
  /// Sends it something that needs no signature yet. @return the answer's body; "" where it refuses
  [[nodiscard]] std::string ask(const std::string& method, const std::string& path,
                                const std::string& service, const std::string& body = {}) const {
    s3::SmallFetch fetch;
    fetch.method = method;
    fetch.url = url() + path;
    fetch.body = body;
    fetch.total = std::chrono::seconds(30);
    fetch.headers = {{"Authorization", "AWS4-HMAC-SHA256 Credential=a/20240101/us-east-1/" +
                                           service +
                                           "/aws4_request, SignedHeaders=host, Signature=b"}};
    // Flask takes a form apart, and leaves nothing of it.
    if (path.starts_with("/moto-api/")) fetch.headers = {{"Content-Type", "text/plain"}};
    const auto answer = s3::fetch_small(fetch);
    return answer && answer->status == 200 ? answer->body + ' ' : std::string();
  }
  /// Waits for it, and makes the bucket "photos".
  [[nodiscard]] bool make_bucket() const {
    const auto until = base::Clock::now() + std::chrono::seconds(90);
    while (base::Clock::now() < until) {
      if (!ask("PUT", "/photos", "s3").empty()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    return false;
  }

 private:
  std::string port_;
  pid_t process_ = -1;
};

void put_list_read(ObjectStore& store) {
  const std::vector<std::string> keys = {"a/ü+ %41&?#=.jpg", "a/./../b", "a/\x01<&>\"'",
                                         "a/ blank "};
  for (const std::string& key : keys) {
    const auto put = store.put(key, as_bytes(key), PutCondition::kNone);
    ASSERT_TRUE(put) << put.error().to_string();
  }
  std::vector<std::string> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::string> listed;
  const auto all = store.list("a/", "", [&](const ObjectInfo& object) {
    listed.push_back(object.key);
    const auto found = store.find(object.key);
    EXPECT_TRUE(found && *found) << object.key;
    if (found && *found) {
      EXPECT_EQ((*found)->etag, object.etag);
      EXPECT_EQ((*found)->bytes, object.bytes);
      EXPECT_EQ((*found)->mtime_ns, object.mtime_ns);
    }
    std::vector<std::uint8_t> bytes(object.bytes);
    const auto got = store.read_at(object, 0, bytes);
    EXPECT_TRUE(got) << got.error().to_string();
    EXPECT_EQ(std::string(bytes.begin(), bytes.end()), object.key);
    return true;
  });
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(listed, sorted);
  listed.clear();
  ASSERT_TRUE(store.list("a/", sorted[1], [&](const ObjectInfo& object) {
    listed.push_back(object.key);
    return true;
  }));
  EXPECT_EQ(listed, std::vector<std::string>(sorted.begin() + 2, sorted.end()));
}

// If-Match on a PUT, and on what ends an upload in parts.
void replace_what_was_seen(ObjectStore& store) {
  const auto put = [&](const std::string& text) {
    return store.put("seen", as_bytes(text), PutCondition::kNone).has_value();
  };
  ASSERT_TRUE(put("first"));
  const ObjectInfo first = **store.find("seen");
  EXPECT_EQ(*store.replace(first, as_bytes("second")), PutOutcome::kStored);
  EXPECT_EQ(*store.replace(first, as_bytes("third")), PutOutcome::kExists);
  EXPECT_EQ((**store.find("seen")).bytes, 6U) << "the second stays";
  const std::string large = pattern(std::size_t{17} << 20);
  auto upload = store.upload("seen");
  ASSERT_TRUE((*upload)->append(as_bytes(large)));
  EXPECT_EQ(*(*upload)->replace((**store.find("seen")).etag), PutOutcome::kStored);
  ASSERT_TRUE(store.remove("seen"));
  EXPECT_EQ(*store.replace(first, as_bytes("third")), PutOutcome::kExists) << "it has gone";
}

void write_in_parts(ObjectStore& store) {
  const std::string large = pattern((std::size_t{35} << 20) + 11);
  for (const PutOutcome expected : {PutOutcome::kStored, PutOutcome::kExists}) {
    auto upload = store.upload("shards/000.tar");
    ASSERT_TRUE(upload);
    ASSERT_TRUE((*upload)->append(as_bytes(large)));
    const auto outcome = (*upload)->complete(PutCondition::kIfAbsent);
    ASSERT_TRUE(outcome) << outcome.error().to_string();
    EXPECT_EQ(*outcome, expected);
  }
  const auto found = store.find("shards/000.tar");
  ASSERT_TRUE(found && *found);
  std::string got(large.size(), '\0');
  std::span<std::uint8_t> into(reinterpret_cast<std::uint8_t*>(got.data()), got.size());
  for (std::size_t at = 0; at < got.size(); at += std::size_t{8} << 20) {
    const auto piece = into.subspan(at, std::min(std::size_t{8} << 20, got.size() - at));
    ASSERT_EQ(store.read_at(**found, at, piece).value_or(0), piece.size());
  }
  EXPECT_TRUE(got == large);
}

// In one request, and in parts.
void find_marks(ObjectStore& store) {
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{17} << 20}) {
    for (const PutCondition condition : {PutCondition::kIfAbsent, PutCondition::kNone}) {
      const std::string mark = condition == PutCondition::kNone ? "" : "0123456789abcdef";
      auto upload = store.upload("marked");
      ASSERT_TRUE(upload);
      if (!mark.empty()) (*upload)->mark(mark);
      ASSERT_TRUE((*upload)->append(as_bytes(pattern(bytes))));
      ASSERT_EQ((*upload)->complete(condition).value(), PutOutcome::kStored);
      const auto found = store.find("marked");
      ASSERT_TRUE(found && *found);
      EXPECT_EQ((*found)->mark, mark);
    }
    ASSERT_TRUE(store.remove("marked"));
  }
}

void find_changed_objects(ObjectStore& store) {
  ASSERT_TRUE(store.put("changing", as_bytes("one"), PutCondition::kNone));
  const auto before = store.find("changing");
  ASSERT_TRUE(before && *before);
  ASSERT_TRUE(store.put("changing", as_bytes("two"), PutCondition::kNone));
  std::vector<std::uint8_t> into(3);
  const auto got = store.read_at(**before, 0, into);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code(), StatusCode::kInvalidInput) << got.error().to_string();
  EXPECT_EQ(*store.put("changing", as_bytes("three"), PutCondition::kIfAbsent),
            PutOutcome::kExists);
  ASSERT_TRUE(store.remove("changing"));
  ASSERT_TRUE(store.remove("changing"));
  EXPECT_FALSE(*store.find("changing"));
  EXPECT_EQ(*store.put("changing", as_bytes("four"), PutCondition::kIfAbsent), PutOutcome::kStored);
}

void list_page_by_page(ObjectStore& store) {
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(store.put("many/" + std::to_string(10 + i), {}, PutCondition::kNone));
  }
  int count = 0;
  ASSERT_TRUE(store.list("many/", "", [&](const ObjectInfo&) { return ++count > 0; }));
  EXPECT_EQ(count, 20);
}

// One case, since moto takes seconds to start.
TEST(Moto, DoesWhatTheStoreAsks) {
  const Moto moto;
  if (!moto.started()) {
    GTEST_SKIP() << "no moto_server at " FRAMEWIRE_MOTO_SERVER "; ./dev test installs it";
  }
  ASSERT_TRUE(moto.make_bucket());
  const auto store = opened(moto.url(), {}, {});
  put_list_read(*store);
  write_in_parts(*store);
  replace_what_was_seen(*store);
  find_marks(*store);
  find_changed_objects(*store);
  list_page_by_page(*store);
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t at = text.find(begin);
  if (at == std::string::npos) return {};
  const std::size_t from = at + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

// moto believes anybody until it is told to check; then botocore computes what we have.
TEST(Moto, FindsOurSignaturesRight) {
  const Moto moto;
  if (!moto.started()) {
    GTEST_SKIP() << "no moto_server at " FRAMEWIRE_MOTO_SERVER "; ./dev test installs it";
  }
  ASSERT_TRUE(moto.make_bucket());
  const auto iam = [&](const std::string& what) {
    return moto.ask("POST", "/", "iam", "Version=2010-05-08&UserName=me&" + what);
  };
  ASSERT_FALSE(iam("Action=CreateUser").empty());
  const std::string policy = percent_encode(
      R"({"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]})");
  ASSERT_FALSE(iam("Action=PutUserPolicy&PolicyName=all&PolicyDocument=" + policy).empty());
  const std::string keys = iam("Action=CreateAccessKey");
  ASSERT_FALSE(moto.ask("POST", "/moto-api/reset-auth", "s3", "0").empty());

  Variables variables = {{"AWS_ACCESS_KEY_ID", between(keys, "<AccessKeyId>", "<")},
                         {"AWS_SECRET_ACCESS_KEY", between(keys, "<SecretAccessKey>", "<")}};
  const auto store = opened(moto.url(), {}, {}, variables);
  put_list_read(*store);
  for (const std::string& key : {std::string("plain.jpg"), std::string("a/b/c=d~e-f_g.jpg")}) {
    const auto put = store->put(key, as_bytes(key), PutCondition::kNone);
    ASSERT_TRUE(put) << put.error().to_string();
    const auto found = store->find(key);
    ASSERT_TRUE(found && *found);
    std::vector<std::uint8_t> into(key.size());
    EXPECT_EQ(store->read_at(**found, 0, into).value_or(0), key.size());
  }
  replace_what_was_seen(*store);
  int listed = 0;
  const auto all = store->list("", "p", [&](const ObjectInfo&) { return ++listed > 0; });
  ASSERT_TRUE(all) << all.error().to_string();
  EXPECT_EQ(listed, 1);
  const std::string large = pattern((std::size_t{17} << 20));
  auto upload = store->upload("parts");
  ASSERT_TRUE((*upload)->append(as_bytes(large)));
  const auto outcome = (*upload)->complete(PutCondition::kIfAbsent);
  ASSERT_TRUE(outcome) << outcome.error().to_string();

  variables["AWS_SECRET_ACCESS_KEY"] += "x";
  const auto wrong = opened(moto.url(), {}, {}, variables)->put("k", {}, PutCondition::kNone);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code(), StatusCode::kDenied);
  EXPECT_THAT(wrong.error().to_string(), testing::HasSubstr("SignatureDoesNotMatch"));
}

}  // namespace
}  // namespace framewire::store
