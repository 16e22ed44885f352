// Which requests are let in, and which give way: bytes, pixels, shares of clients.
#include <gtest/gtest.h>
#include <algorithm>
#include <service/http/admission.hpp>

namespace framewire::service::http {
namespace {

using Verdict = ClientAdmission::Verdict;
constexpr ClientKey kAnn{1};
constexpr ClientKey kBob{2};

TEST(HttpAdmission, BoundsRequestsBytesAndPixels) {
  ClientAdmission admission({3, 1000, 500, 100});
  ClientAdmission::Ticket a, b, c, d;
  EXPECT_EQ(admission.admit(kAnn, 600, 100, a), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit(kBob, 600, 100, b), Verdict::kOverBudget);
  EXPECT_EQ(admission.admit(kBob, 100, 500, b), Verdict::kOverBudget);
  EXPECT_EQ(admission.admit(kBob, 100, 100, b), Verdict::kAdmitted);
  EXPECT_EQ(admission.change(b, 500, 100), Verdict::kOverBudget);
  EXPECT_EQ(admission.change(b, 400, 400), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit(kBob, 0, 0, c), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit(kBob, 0, 0, d), Verdict::kQueueFull);
  admission.answered(b, 50);
  EXPECT_EQ(admission.usage().bytes, 650u);
  EXPECT_EQ(admission.usage().requests, 2u);
  for (auto* ticket : {&a, &b, &c}) ticket->give_back();
  const auto usage = admission.usage();
  EXPECT_EQ(usage.requests + usage.bytes + usage.pixels + usage.clients, 0u);
}

TEST(HttpAdmissionAttack, NobodyTakesAllWhileOthersWait) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  std::vector<ClientAdmission::Ticket> anns(20);
  int admitted = 0;
  // Alone Ann may take everything.
  for (auto& ticket : anns) {
    admitted += admission.admit(kAnn, 1, 1, ticket, now) == Verdict::kAdmitted;
  }
  EXPECT_EQ(admitted, 10);
  ClientAdmission::Ticket bobs;
  EXPECT_EQ(admission.admit(kBob, 1, 1, bobs, now), Verdict::kQueueFull);
  // From now on what Ann gives back goes to others, until she has her share.
  anns[0].give_back();
  ClientAdmission::Ticket more;
  EXPECT_EQ(admission.admit(kAnn, 1, 1, more, now), Verdict::kClientShare);
  EXPECT_EQ(admission.admit(kBob, 1, 1, bobs, now), Verdict::kAdmitted);
  for (int i = 1; i < 6; ++i) anns[static_cast<std::size_t>(i)].give_back();
  EXPECT_EQ(admission.admit(kAnn, 1, 1, more, now), Verdict::kAdmitted);
  ClientAdmission::Ticket sixth;
  EXPECT_EQ(admission.admit(kAnn, 1, 1, sixth, now), Verdict::kClientShare);
  EXPECT_EQ(admission.admit(kAnn, 1, 1, sixth, now + std::chrono::seconds(3)), Verdict::kAdmitted);
}

// Who asks for one picture after the other, and reads none, is never more than one request.
TEST(HttpAdmissionAttack, AnswersThatNobodyReadsCount) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  std::vector<ClientAdmission::Ticket> anns(20);
  int admitted = 0;
  for (auto& ticket : anns) {
    if (admission.admit(kAnn, 0, 0, ticket, now) != Verdict::kAdmitted) continue;
    ++admitted;
    admission.answered(ticket, 300);
  }
  EXPECT_EQ(admitted, 4) << "the last one goes beyond the bound, and nothing after it";
  ClientAdmission::Ticket bobs, more;
  EXPECT_FALSE(admission.gives_way(kAnn, now).any());
  EXPECT_EQ(admission.admit(kBob, 1, 1, bobs, now), Verdict::kOverBudget);
  EXPECT_TRUE(admission.gives_way(kAnn, now).answers);
  EXPECT_FALSE(admission.gives_way(kBob, now).any());
  EXPECT_FALSE(admission.gives_way(kAnn, now + std::chrono::seconds(3)).any());
  // What is read is others', as long as Ann has more than her share.
  anns[0].give_back();
  EXPECT_EQ(admission.admit(kAnn, 0, 0, more, now), Verdict::kClientShare);
  EXPECT_EQ(admission.admit(kBob, 1, 1, bobs, now), Verdict::kAdmitted);
}

// Neither answers nor bodies that are coming hold pixels, and answers hold no requests.
TEST(HttpAdmissionAttack, NothingGivesWayThatWouldFreeNothing) {
  using namespace std::chrono_literals;
  const auto now = ClientAdmission::Clock::now();
  ClientAdmission::Ticket bobs;
  {
    ClientAdmission admission({10, 1000, 1000, 50});
    ClientAdmission::Ticket working;
    ASSERT_EQ(admission.admit(kAnn, 1, 900, working, now), Verdict::kAdmitted);
    ASSERT_EQ(admission.admit(kBob, 1, 200, bobs, now), Verdict::kOverBudget);
    EXPECT_FALSE(admission.gives_way(kAnn, now).any()) << "pixels";
  }
  {
    ClientAdmission admission({3, 1000, 1000, 50});
    ClientAdmission::Ticket a, b, c;
    for (auto* ticket : {&a, &b, &c}) {
      ASSERT_EQ(admission.admit(kAnn, 1, 1, *ticket, now), Verdict::kAdmitted);
    }
    ASSERT_EQ(admission.admit(kBob, 1, 1, bobs, now), Verdict::kQueueFull);
    EXPECT_TRUE(admission.gives_way(kAnn, now).bodies) << "requests";
    EXPECT_FALSE(admission.gives_way(kAnn, now).answers) << "requests";
  }
  ClientAdmission admission({10, 1000, 1000, 50});
  ClientAdmission::Ticket large;
  ASSERT_EQ(admission.admit(kAnn, 900, 1, large, now), Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(kBob, 200, 1, bobs, now), Verdict::kOverBudget);
  EXPECT_TRUE(admission.gives_way(kAnn, now).bodies) << "bytes";
  // The first thread that asks waits for the others; then one in a tenth of a second cuts.
  const int one = 0, two = 0;
  EXPECT_FALSE(admission.begin_cut(kAnn, 10, &one, now).any());
  EXPECT_TRUE(admission.begin_cut(kAnn, 10, &one, now + 100ms).answers) << "bytes";
  EXPECT_FALSE(admission.begin_cut(kAnn, 5, &two, now + 101ms).any());
  EXPECT_TRUE(admission.begin_cut(kAnn, 5, &two, now + 200ms).bodies);
  EXPECT_TRUE(admission.begin_cut(kAnn, 10, &one, now + 300ms).bodies);
  large.give_back();
  EXPECT_FALSE(admission.begin_cut(kAnn, 10, &one, now + 400ms).any()) << "it has its share";
}

TEST(HttpAdmission, TheSlowestOfAllThreadsGivesWayFirst) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  ClientAdmission::Ticket large, bobs;
  ASSERT_EQ(admission.admit(kAnn, 900, 1, large, now), Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(kBob, 200, 1, bobs, now), Verdict::kOverBudget);
  const int one = 0, two = 0, three = 0;
  const auto cuts = [&](const int& thread, double pace, int ms) {
    return admission.begin_cut(kAnn, pace, &thread, now + std::chrono::milliseconds(ms)).any();
  };
  EXPECT_FALSE(cuts(one, 1000, 0)) << "nobody else has been heard of yet";
  EXPECT_FALSE(cuts(two, 10, 30));
  EXPECT_FALSE(cuts(three, 500, 60));
  EXPECT_FALSE(cuts(one, 1000, 100)) << "two has a slower one";
  EXPECT_TRUE(cuts(two, 10, 130));
  EXPECT_FALSE(cuts(three, 500, 160)) << "too soon";
  EXPECT_FALSE(cuts(one, 1000, 230)) << "three has a slower one";
  EXPECT_TRUE(cuts(three, 500, 260));
  // Whom nobody has heard of for a while has nothing slow any more.
  EXPECT_FALSE(cuts(two, 10, 300));
  EXPECT_FALSE(cuts(one, 1000, 400));
  EXPECT_TRUE(cuts(one, 1000, 600));
  EXPECT_TRUE(cuts(one, 1000, 700));
}

TEST(HttpAdmission, AnnouncedPixelsAreJudgedAndNotHeld) {
  ClientAdmission admission({10, 1000, 1000, 50});
  ClientAdmission::Ticket a, b, c;
  EXPECT_EQ(admission.admit(kBob, 1, 300, b), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit_announced(kAnn, 10, 701, a), Verdict::kOverBudget);
  EXPECT_EQ(admission.admit_announced(kAnn, 10, 700, a), Verdict::kAdmitted);
  EXPECT_EQ(admission.usage().pixels, 300u);
  EXPECT_EQ(admission.usage().bytes, 11u);
  EXPECT_EQ(admission.admit(kBob, 1, 700, c), Verdict::kAdmitted) << "nobody holds them yet";
}

TEST(HttpAdmission, WhatHasComeWholeIsNotRefusedForAShare) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  ClientAdmission::Ticket a, b, bobs, more;
  ASSERT_EQ(admission.admit_announced(kAnn, 600, 10, a, now), Verdict::kAdmitted);
  ASSERT_EQ(admission.admit_announced(kAnn, 300, 10, b, now), Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(kBob, 200, 10, bobs, now), Verdict::kOverBudget);
  ASSERT_EQ(admission.admit(kAnn, 1, 10, more, now), Verdict::kClientShare);
  EXPECT_EQ(admission.settle_or_wait(a, 600, 900, now), Verdict::kAdmitted);
  EXPECT_EQ(admission.settle_or_wait(b, 300, 200, now), Verdict::kOverBudget) << "it waits";
  a.give_back();
  EXPECT_EQ(admission.settle_or_wait(b, 300, 200, now), Verdict::kAdmitted);
  EXPECT_EQ(admission.usage().pixels, 200u);
  // Answers may hold more than all bytes there are; a body that asks for none is not judged by
  // them.
  admission.answered(b, 300);
  ClientAdmission::Ticket c;
  ASSERT_EQ(admission.admit_announced(kBob, 500, 1, c, now), Verdict::kAdmitted);
  admission.answered(b, 900);
  EXPECT_EQ(admission.settle_or_wait(c, 500, 100, now), Verdict::kAdmitted);
}

/// Bodies of unknown length, and pictures that have more pixels than their length lets expect.
TEST(HttpAdmission, WhatHasComeWholeWaitsForItsClientsShareOfPixels) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  ClientAdmission::Ticket a, b, large, bobs;
  for (auto* ticket : {&a, &b, &large}) {
    ASSERT_EQ(admission.admit_announced(kAnn, 10, 10, *ticket, now), Verdict::kAdmitted);
  }
  ASSERT_EQ(admission.admit_announced(kBob, 10, 10, bobs, now), Verdict::kAdmitted);
  EXPECT_EQ(admission.settle_or_wait(a, 10, 400, now), Verdict::kAdmitted);
  EXPECT_EQ(admission.settle_or_wait(large, 10, 600, now), Verdict::kAdmitted) << "nobody waits";
  EXPECT_EQ(admission.settle_or_wait(bobs, 10, 400, now), Verdict::kOverBudget);
  a.give_back();
  EXPECT_EQ(admission.settle_or_wait(b, 10, 100, now), Verdict::kClientShare) << "Bob's turn";
  EXPECT_EQ(admission.settle_or_wait(bobs, 10, 400, now), Verdict::kAdmitted);
  large.give_back();
  EXPECT_EQ(admission.settle_or_wait(b, 10, 600, now), Verdict::kAdmitted) << "it is the only one";
  b.give_back();
  ClientAdmission::Ticket c;
  ASSERT_EQ(admission.admit_announced(kAnn, 10, 10, c, now + std::chrono::seconds(3)),
            Verdict::kAdmitted);
  EXPECT_EQ(admission.settle_or_wait(c, 10, 500, now), Verdict::kAdmitted) << "its share";
  EXPECT_EQ(admission.usage().pixels, 900u);
}

TEST(HttpAdmission, ATicketIsChargedToAnother) {
  ClientAdmission admission({10, 1000, 1000, 50});
  const auto now = ClientAdmission::Clock::now();
  ClientAdmission::Ticket shared, large, anns, bobs, more;
  ASSERT_EQ(admission.admit(kAnn, 600, 10, shared, now), Verdict::kAdmitted);
  admission.answered(shared, 600);
  shared.charge_to(kBob);
  EXPECT_EQ(admission.usage().bytes, 600u);
  EXPECT_EQ(admission.usage().clients, 1u);
  ASSERT_EQ(admission.admit(ClientKey{3}, 400, 1, large, now), Verdict::kAdmitted);
  ASSERT_EQ(admission.admit(kAnn, 100, 1, anns, now), Verdict::kOverBudget);
  EXPECT_EQ(admission.admit(kAnn, 0, 1, anns, now), Verdict::kAdmitted) << "she holds nothing";
  EXPECT_EQ(admission.admit(kBob, 0, 1, bobs, now), Verdict::kClientShare);
  EXPECT_TRUE(admission.gives_way(kBob, now).answers);
  // Nobody in particular has no share. What is held is held all the same.
  shared.charge_to(ClientKey{});
  EXPECT_EQ(admission.usage().bytes, 1000u);
  EXPECT_EQ(admission.admit(kBob, 0, 1, bobs, now), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit(kBob, 1, 1, more, now), Verdict::kOverBudget);
  shared.charge_to(kAnn);
  EXPECT_TRUE(admission.gives_way(kAnn, now).answers);
  for (auto* ticket : {&shared, &large, &anns, &bobs}) ticket->give_back();
  const auto usage = admission.usage();
  EXPECT_EQ(usage.requests + usage.bytes + usage.pixels + usage.clients, 0u);
  shared.charge_to(kBob);
  EXPECT_EQ(admission.usage().clients, 0u) << "there is nothing to count";
}

TEST(HttpAdmission, OneRequestBeyondTheBudgetIsAdmittedAlone) {
  ClientAdmission admission({10, 1000, 1000, 50});
  ClientAdmission::Ticket one, two;
  EXPECT_EQ(admission.admit(kAnn, 5000, 5000, one), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit(kBob, 1, 1, two), Verdict::kOverBudget);
}

TEST(HttpAdmission, AnswersWantNoPixels) {
  ClientAdmission admission({10, 1000, 1000, 50});
  ClientAdmission::Ticket picture, answer, more;
  EXPECT_EQ(admission.admit(kAnn, 100, 5000, picture), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit_answer(kBob, 40, answer), Verdict::kAdmitted);
  EXPECT_EQ(admission.admit_answer(kBob, 900, more), Verdict::kOverBudget);
}

}  // namespace
}  // namespace framewire::service::http
