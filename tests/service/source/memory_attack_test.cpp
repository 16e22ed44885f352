// Memory that runs out anywhere in a fetch costs that fetch alone.
#include <gtest/gtest.h>
#include <tests/service/support/failing_memory.hpp>
#include <tests/service/support/origin.hpp>
#include <tests/service/support/temporary_folder.hpp>

namespace framewire::service::source {
namespace {

// Fetches with the n-th allocation failing, for each n until none fails any more.
void exhaust(Sources& sources, const FetchRequest& request, int least) {
  int failures = 0;
  for (long n = 1; n < 2'000; ++n) {
    // Made before memory runs out: what the test itself needs.
    std::promise<std::optional<FetchErrorKind>> promise;
    auto answer = promise.get_future();
    const FetchDone done = [&promise](const Fetched<Original>& original) {
      promise.set_value(original ? std::nullopt : std::optional(original.error().kind));
    };
    std::optional<FetchErrorKind> kind;
    bool failed = false;
    {
      FetchRequest copy = request;
      FetchDone call = done;
      const test::FailingMemory memory(n);
      const auto begun = sources.fetch(std::move(copy), std::move(call));
      kind = begun ? answer.get() : std::optional(begun.error().kind);
      failed = memory.failed();
    }
    if (!failed) {
      EXPECT_FALSE(kind) << to_string(*kind);
      EXPECT_GE(failures, least) << "fewer allocations than there must be";
      return;
    }
    ++failures;
    if (kind) {
      EXPECT_EQ(*kind, FetchErrorKind::kBusy) << to_string(*kind) << " at allocation " << n;
    }
    const auto after = test::fetch(sources, request);
    ASSERT_TRUE(after) << "after allocation " << n << ": " << after.error().message;
  }
  ADD_FAILURE() << "allocations without an end";
}

TEST(SourceMemoryAttack, EveryAllocationOfAFetchFromAnOriginFails) {
  test::Origin origin(test::answering([](const std::string& head) -> std::string {
    if (head.starts_with("GET /1 ")) return test::status(302, "Location: http://other.test/2\r\n");
    return "HTTP/1.1 200 OK\r\nETag: \"a tag that is longer than a short string\"\r\n"
           "Transfer-Encoding: chunked\r\n\r\n5\r\nbytes\r\n0\r\n\r\n";
  }));
  FetchRequest request;
  request.url = "http://images.test/1";
  request.if_none_match = "\"a condition that is longer than a short string\"";
  exhaust(*origin.sources, request, 20);
}

TEST(SourceMemoryAttack, EveryAllocationOfAFetchFromAFileFails) {
  test::TemporaryFolder folder;
  folder.write("a folder with a long name/a file with a long name.jpg", "bytes");
  SourceSettings settings;
  settings.root = folder.path().string();
  auto sources = Sources::make(settings);
  ASSERT_TRUE(sources);
  FetchRequest request;
  request.url = "local:///a folder with a long name/a file with a long name.jpg";
  exhaust(*sources, request, 5);
}

TEST(SourceMemoryAttack, EveryAllocationOfARefusalFails) {
  auto sources = Sources::make(SourceSettings{});
  ASSERT_TRUE(sources);
  for (long n = 1; n < 50; ++n) {
    std::promise<FetchErrorKind> promise;
    auto answer = promise.get_future();
    FetchRequest request;
    request.url = "http://a.host.with.a.long.name.test/which/is/not/allowed.jpg";
    FetchDone done = [&promise](const Fetched<Original>& original) {
      promise.set_value(original.error().kind);
    };
    const test::FailingMemory memory(n);
    const auto begun = sources->fetch(std::move(request), std::move(done));
    const FetchErrorKind kind = begun ? answer.get() : begun.error().kind;
    EXPECT_TRUE(kind == FetchErrorKind::kBusy || kind == FetchErrorKind::kSchemeNotAllowed);
    if (!memory.failed()) return;
  }
  ADD_FAILURE() << "allocations without an end";
}

}  // namespace
}  // namespace framewire::service::source
