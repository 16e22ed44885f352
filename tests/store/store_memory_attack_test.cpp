// Reads and uploads while memory runs out: none is waited for without end.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <array>
#include <store/part_sizes.hpp>
#include <tests/service/support/failing_memory.hpp>
#include <tests/store/opened_store.hpp>
#include <tests/store/scripted_server.hpp>
#include <thread>

namespace framewire::store {
namespace {

using namespace framewire::test;

TEST(StoreMemoryAttack, WhereverMemoryRunsOutEveryReadIsAnswered) {
  const std::string object = "012";
  ScriptedServer server([&](const Asked& asked) {
    const auto first = std::stoul(asked.headers.at("range").substr(6));
    return reply(206, object.substr(first, 1),
                 {"ETag: \"e\"", fmt::format("Content-Range: bytes {}-{}/3", first, first)});
  });
  StoreSettings settings;
  settings.reads_in_flight = 1;
  const auto store = opened(server.url(), settings);
  const ObjectInfo info{"k", object.size(), "e", 0};
  bool ran_out = true;
  for (long n = 1; ran_out; ++n) {
    std::array<std::uint8_t, 3> bytes{};
    std::atomic<int> begun = 0;
    std::atomic<int> answered = 0;
    int refused = 0;
    {
      const service::test::FailingMemory memory(n);
      for (std::size_t i = 0; i < bytes.size(); ++i) {
        try {
          store->start_read(info, i, std::span(bytes).subspan(i, 1),
                            [&](const Result<std::size_t>&) { ++answered; });
          ++begun;
        } catch (const std::bad_alloc&) {
          ++refused;
        }
      }
      const auto until = base::Clock::now() + std::chrono::seconds(60);
      while (answered < begun && base::Clock::now() < until) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
      ran_out = memory.failed();
    }
    ASSERT_EQ(answered.load(), begun.load()) << "allocation " << n;
    ASSERT_LE(refused, 1);
  }
  std::array<std::uint8_t, 3> bytes{};
  EXPECT_EQ(store->read_at(info, 0, std::span(bytes).first(1)).value_or(0), 1U)
      << "there is a place for a read still";
}

TEST(StoreMemoryAttack, WhereverMemoryRunsOutTheUploadEnds) {
  std::atomic<unsigned> parts = 0;
  ScriptedServer server([&](const Asked& asked) {
    if (asked.method == "POST" && asked.target.ends_with("?uploads=")) {
      return reply(200,
                   "<InitiateMultipartUploadResult><UploadId>up</UploadId>"
                   "</InitiateMultipartUploadResult>");
    }
    if (asked.method == "PUT") ++parts;
    if (asked.method == "POST") {
      return reply(200,
                   "<CompleteMultipartUploadResult><ETag>\"e\"</ETag>"
                   "</CompleteMultipartUploadResult>");
    }
    return reply(asked.method == "DELETE" ? 204 : 200, "", {"ETag: \"e\""});
  });
  const auto store = opened(server.url());
  const std::vector<std::uint8_t> bytes(part_bytes(1) + 1);
  unsigned whole = 0;
  unsigned failed = 0;
  bool ran_out = true;
  for (long n = 1; ran_out; ++n) {
    parts = 0;
    const service::test::FailingMemory memory(n);
    try {
      auto upload = store->upload("k");
      const bool done =
          upload && (*upload)->append(bytes) && (*upload)->complete(PutCondition::kNone);
      ++(done ? whole : failed);
      EXPECT_TRUE(!done || parts.load() >= 2) << "a part was left out";
    } catch (const std::bad_alloc&) {
      ++failed;
    }
    ran_out = memory.failed();
  }
  EXPECT_GT(failed, 10U);
}

}  // namespace
}  // namespace framewire::store
