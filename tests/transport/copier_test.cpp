// The host's side of a mailbox, with threads that play the kernels.
#include <gtest/gtest.h>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <transport/copier.hpp>
#include <vector>

namespace framewire::transport {
namespace {

using base::Clock;
using std::chrono::microseconds;

std::uint64_t load(std::uint64_t& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}
void store(std::uint64_t& word, std::uint64_t value) {
  std::atomic_ref(word).store(value, std::memory_order_release);
}

// A stream of kernels on a thread of its own, each as copy_kernel.cu has it. A copy adds its `from`
// to the word at `to`, so that one made twice or never shows.
class PlayedKernel final : public CopyKernel {
 public:
  explicit PlayedKernel(unsigned linger_us) : linger_(linger_us) {
    box_.h_commands = commands_.data();
    box_.h_done = done_.data();
    box_.h_left = &left_;
    thread_ = std::thread([this] { run(); });
  }
  ~PlayedKernel() override {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  PlayedKernel(const PlayedKernel&) = delete;
  PlayedKernel& operator=(const PlayedKernel&) = delete;

  Result<void> launch(const CopyCommand& command, Stay stay) override {
    if (lost_) return fail(StatusCode::kDeviceLost, "lost");
    const std::lock_guard lock(mutex_);
    launched_.push_back({command, stay});
    ++launches_;
    changed_.notify_all();
    return {};
  }
  Result<void> check() override {
    if (lost_) return fail(StatusCode::kDeviceLost, "lost");
    return {};
  }
  // From now on nothing is made or told.
  void lose() { lost_ = true; }
  // Kernels take no command meanwhile.
  void hold(bool held) { held_ = held; }

  [[nodiscard]] const Mailbox& box() const { return box_; }
  [[nodiscard]] unsigned launches() const { return launches_; }
  [[nodiscard]] unsigned taken() const { return taken_; }

 private:
  struct Launch {
    CopyCommand command;
    Stay stay;
  };
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return over_ || !launched_.empty(); });
      if (launched_.empty()) return;
      const Launch next = launched_.front();
      launched_.pop_front();
      lock.unlock();
      play(next);
      lock.lock();
    }
  }
  void play(const Launch& launch) {
    CopyCommand command = launch.command;
    make(command);
    while (launch.stay != Stay::kNo && !lost_) {
      const std::uint64_t number = command.number + 1;
      command = await(number);
      if (command.leave()) {
        if (!lost_) store(left_, number);
        return;
      }
      ++taken_;
      make(command);
    }
  }
  void make(const CopyCommand& command) {
    if (lost_) return;
    const bool there =
        !command.awaits() || load(*reinterpret_cast<std::uint64_t*>(command.arrivals)) ==
                                 static_cast<std::uint32_t>(command.expected);
    if (there) *reinterpret_cast<std::uint64_t*>(command.to) += command.from;
    if (command.tell != 0) store(*reinterpret_cast<std::uint64_t*>(command.tell), command.number);
    store(done_[command.number % kMailboxSlots], done_word(command.number, there));
  }
  CopyCommand await(std::uint64_t number) {
    while (held_) std::this_thread::yield();
    const auto end = Clock::now() + linger_;
    CopyCommand& slot = commands_[number % kMailboxSlots];
    do {
      const CopyCommand command{load(slot.to),     load(slot.from),     load(slot.bytes),
                                load(slot.tell),   load(slot.arrivals), load(slot.expected),
                                load(slot.number), load(slot.seal)};
      if (command.seal == seal_of(command, number)) return command;
    } while (Clock::now() < end && !lost_);
    return {};
  }

  microseconds linger_;
  std::array<CopyCommand, kMailboxSlots> commands_{};
  std::array<std::uint64_t, kMailboxSlots> done_{};
  std::uint64_t left_ = 0;
  Mailbox box_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Launch> launched_;
  bool over_ = false;
  std::atomic<bool> lost_ = false;
  std::atomic<bool> held_ = false;
  std::atomic<unsigned> launches_ = 0;
  std::atomic<unsigned> taken_ = 0;
  std::thread thread_;
};

// The host's policy here: it expects kernels to stay for a minute, and never learns otherwise.
constexpr LingerPolicy kPolicy{60'000'000, 1024};

CopyCommand adding(std::uint64_t& to, std::uint64_t value, std::uint64_t bytes = 8) {
  CopyCommand command{};
  command.to = reinterpret_cast<std::uintptr_t>(&to);
  command.from = value;
  command.bytes = bytes;
  return command;
}

void await(Copier& copier, std::uint64_t number) {
  const auto end = Clock::now() + std::chrono::seconds(60);
  while (true) {
    const auto done = copier.done(number);
    ASSERT_TRUE(done) << done.error().to_string();
    if (*done) return;
    ASSERT_LT(Clock::now(), end) << "copy " << number;
  }
}

TEST(Copier, ALoneCopyIsLaunchedAndNothingStays) {
  PlayedKernel kernel(1000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  await(copier, copier.copy(adding(sum, 5)).value());
  EXPECT_EQ(sum, 5U);
  EXPECT_TRUE(copier.settle());
  EXPECT_EQ(load(*kernel.box().h_left), 0U);
}

TEST(Copier, CopiesThatFollowAreToldToTheKernelThatStays) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    await(copier, copier.copy(adding(sum, i)).value());
    ASSERT_EQ(sum, i * (i + 1) / 2);
  }
  EXPECT_EQ(kernel.launches(), 2U);
  EXPECT_EQ(kernel.taken(), 998U);
  EXPECT_TRUE(copier.settle());
  EXPECT_EQ(load(*kernel.box().h_left), 1001U);
}

// Kernels leave after about as long as the host pauses: it posts to some that are leaving.
TEST(Copier, EveryCopyIsMadeOnceWheneverKernelsLeave) {
  for (const unsigned linger_us : {0U, 1U, 5U, 40U}) {
    PlayedKernel kernel(linger_us);
    Copier copier(kernel, kernel.box(), kPolicy);
    std::mt19937 random(linger_us);
    std::vector<std::uint64_t> made(4000);
    std::uint64_t told = 0;
    for (std::uint64_t& one : made) {
      CopyCommand command = adding(one, 1);
      command.tell = reinterpret_cast<std::uintptr_t>(&told);
      const auto number = copier.copy(command);
      ASSERT_TRUE(number);
      ASSERT_EQ(*number, static_cast<std::uint64_t>(&one - made.data()) + 1);
      if (random() % 4 == 0) await(copier, *number);
      if (random() % 4 == 0) {
        const auto end = Clock::now() + microseconds(random() % (2 * linger_us + 2));
        while (Clock::now() < end) {
        }
      }
      if (random() % 64 == 0) copier.dismiss();
      if (random() % 256 == 0) {
        ASSERT_TRUE(copier.settle());
      }
    }
    ASSERT_TRUE(copier.settle());
    await(copier, made.size());
    for (std::uint64_t number = 1; number <= made.size(); ++number) await(copier, number);
    EXPECT_EQ(load(told), made.size());
    for (const std::uint64_t one : made) ASSERT_EQ(one, 1U);
  }
}

// The kernel has taken none of what fills the ring when it is told to leave.
TEST(Copier, WhatLeavesDoesNotDisplaceACopy) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  kernel.hold(true);
  std::thread releasing([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    kernel.hold(false);
  });
  std::uint64_t sum = 0;
  await(copier, copier.copy(adding(sum, 1)).value());
  await(copier, copier.copy(adding(sum, 1)).value());
  for (unsigned i = 0; i < kMailboxSlots; ++i) EXPECT_TRUE(copier.copy(adding(sum, 1)));
  copier.dismiss();
  releasing.join();
  EXPECT_TRUE(copier.settle());
  await(copier, kMailboxSlots + 2);
  EXPECT_EQ(sum, kMailboxSlots + 2);
}

TEST(Copier, ACopyWhoseBytesDoNotComeIsDoneAndNotMade) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  std::uint64_t word = 0;
  for (std::uint64_t number = 1; number <= 2 * kMailboxSlots; ++number) {
    CopyCommand command = adding(sum, 1);
    command.arrivals = reinterpret_cast<std::uintptr_t>(&word);
    command.expected = std::uint64_t{1} << 32 | number;
    word = number % 3 == 0 ? number - 1 : number;
    await(copier, copier.copy(command).value());
    EXPECT_EQ(copier.made(number), number % 3 != 0) << number;
    EXPECT_EQ(number == 1 || copier.made(number - 1), number == 1 || (number - 1) % 3 != 0)
        << number;
  }
  EXPECT_EQ(sum, 2 * kMailboxSlots - 2 * kMailboxSlots / 3);
  EXPECT_TRUE(copier.settle());
}

TEST(Copier, ALargeCopyDoesNotGoToANarrowKernel) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copier.copy(adding(sum, 1)));
  EXPECT_EQ(kernel.launches(), 2U);
  ASSERT_TRUE(copier.copy(adding(sum, 1, 4096)));
  EXPECT_EQ(kernel.launches(), 3U);
  ASSERT_TRUE(copier.copy(adding(sum, 1)));
  ASSERT_TRUE(copier.copy(adding(sum, 1, 4096)));
  EXPECT_EQ(kernel.launches(), 3U);
  await(copier, 6);
  EXPECT_TRUE(copier.settle());
  EXPECT_EQ(sum, 6U);
}

TEST(Copier, WhoWaitsForStreamsIsNotHeldUp) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copier.copy(adding(sum, 1)));
  ASSERT_TRUE(copier.rest());
  EXPECT_EQ(load(*kernel.box().h_left), 4U);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copier.copy(adding(sum, 1)));
  EXPECT_EQ(kernel.launches(), 5U);
  await(copier, 6);
  EXPECT_EQ(sum, 6U);
}

TEST(Copier, ANextQueueGoesOnInTheSameMailbox) {
  PlayedKernel kernel(30);
  std::uint64_t sum = 0;
  Mailbox box = kernel.box();
  for (std::uint64_t queue = 1; queue <= 300; ++queue) {
    Copier copier(kernel, box, kPolicy);
    for (int i = 0; i < 3; ++i) await(copier, copier.copy(adding(sum, 1)).value());
    ASSERT_TRUE(copier.settle());
    box = copier.mailbox();
    ASSERT_EQ(sum, 3 * queue);
  }
}

TEST(Copier, ALostDeviceIsNoticed) {
  PlayedKernel kernel(120'000'000);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(copier.copy(adding(sum, 1)));
  await(copier, 3);
  kernel.lose();
  ASSERT_TRUE(copier.copy(adding(sum, 1)));
  const auto settled = copier.settle();
  ASSERT_FALSE(settled);
  EXPECT_EQ(settled.error().code(), StatusCode::kDeviceLost);
}

TEST(Copier, AFailedLaunchIsNotForgotten) {
  PlayedKernel kernel(0);
  Copier copier(kernel, kernel.box(), kPolicy);
  std::uint64_t sum = 0;
  for (int i = 0; i < 2; ++i) await(copier, copier.copy(adding(sum, 1)).value());
  while (load(*kernel.box().h_left) == 0) std::this_thread::yield();
  kernel.lose();
  EXPECT_FALSE(copier.copy(adding(sum, 1)));
  EXPECT_FALSE(copier.done(3));
  EXPECT_FALSE(copier.settle());
  EXPECT_TRUE(copier.done(2).value());
}

TEST(Copier, ACommandOfSeveralIsNone) {
  CopyCommand one{0x7000'0000, 0x7100'0000, 4096, 0, 0, 0, 5, 0};
  one.seal = seal_of(one, 5);
  EXPECT_NE(one.seal, seal_of(one, 5 + kMailboxSlots));
  for (std::uint64_t CopyCommand::*word :
       {&CopyCommand::to, &CopyCommand::from, &CopyCommand::bytes, &CopyCommand::tell,
        &CopyCommand::arrivals, &CopyCommand::expected, &CopyCommand::number}) {
    CopyCommand mixed = one;
    mixed.*word += 64;
    EXPECT_NE(mixed.seal, seal_of(mixed, 5));
  }
  EXPECT_NE(CopyCommand{}.seal, seal_of(CopyCommand{}, 1));
}

}  // namespace
}  // namespace framewire::transport
