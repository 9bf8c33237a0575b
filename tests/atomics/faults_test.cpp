// The way to an adapter breaks: what was asked of it fails in words, and nothing else does.
#include "job.hpp"

namespace godwit::atomics_test {
namespace {

std::string outcome(Job& job, Rank rank, Operation* operation) {
  EXPECT_NE(operation, nullptr);
  EXPECT_TRUE(job.until([&] { return operation->done(); }));
  EXPECT_NE(operation->status, ErrorCode::ok);
  std::string words = operation->detail;
  job.worker(rank).release(*operation);
  return words;
}

void expect_they_still_talk(Job& job, Words& by_cpu) {
  job.run([&](Rank rank) {
    by_cpu.add(rank, 1);
    by_cpu.put(rank, 7, 1);
    EXPECT_EQ(job.worker(rank).flush(0).code(), ErrorCode::ok);
  });
}

// The neighbour's second way; the owner's loopback; in both cases shared memory goes on.
TEST(Faults, OfAWayEndTheAtomicsOnItOnly) {
  for (const Rank rank : {0, 1}) {
    Job job({{.host = 0}, {.host = 0}, {.host = 1}}, {{"IB_RECOVERY_TIME", "0"}});
    Words words(job, 0, 1), by_cpu(job, 0, 2, AtomicsDomain::cpu);
    job.run([&](Rank self) { words.add(self, 1); });
    job.process(rank).fail_request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_WC_RETRY_EXC_ERR);
    EXPECT_NE(outcome(job, rank, words.start_add(rank, 1, nullptr)).find("rank 0"), std::string::npos);
    expect_they_still_talk(job, by_cpu);
    EXPECT_NE(outcome(job, rank, words.start_add(rank, 1, nullptr)), "") << "it does not come back";
    job.run([&](Rank self) {
      if (self != rank) words.add(self, 1);
    });
    EXPECT_EQ(words[0], 5U) << "the others' ways";
  }
}

// Rebuilt where that is on: the one under way fails, later ones work.
TEST(Faults, OfAQueuePairFailAnAtomicOnceAndAreRepaired) {
  for (const Rank rank : {1, 2}) {
    Job job({{.host = 0}, {.host = 0}, {.host = 1}});
    Words words(job, 0, 1);
    job.run([&](Rank self) { words.add(self, 1); });
    job.process(rank).fail_request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_WC_RETRY_EXC_ERR, fake_verbs::Executed::yes);
    const std::string why = outcome(job, rank, words.start_add(rank, 1, nullptr));
    EXPECT_NE(why.find("whether it was executed is not known"), std::string::npos) << why;
    job.run([&](Rank self) { words.add(self, 1); });
    EXPECT_EQ(words[0], 7U);
  }
}

// Who is asked by a message says that its own adapter failed.
TEST(Faults, OfTheOwnersAdapterReachWhoAskedIt) {
  Job job({{.host = 0}, {.host = 0, .device = Device::none}});
  Words words(job, 0, 1);
  job.run([&](Rank self) { words.add(self, 1); });
  job.process(0).fail_request(IBV_WR_ATOMIC_FETCH_AND_ADD, 1, IBV_WC_RETRY_EXC_ERR);
  const std::string why = outcome(job, 1, words.start_add(1, 1, nullptr));
  EXPECT_NE(why.find("rank 0"), std::string::npos) << why;
  EXPECT_NE(why.find("adapter"), std::string::npos) << why;
  EXPECT_NE(job.log().find("an atomic for rank 1"), std::string::npos);
  EXPECT_EQ(words[0], 2U);
}

TEST(Faults, AtomicsOnMemoryThatIsGoneAreRefusedInWords) {
  Job job({{.host = 0}, {.host = 0, .device = Device::none}});
  auto words = std::make_unique<Words>(job, 0, 1);
  core::RemoteRegion gone = words->seen_by(1);
  job.run([&](Rank self) { words->add(self, 1); });
  words.reset();
  Operation* const operation = job.worker(1).post_atomic(Operation::Kind::fetch_add, gone, 0, 8, 1, 0, nullptr);
  EXPECT_NE(outcome(job, 1, operation).find("no longer registered"), std::string::npos);
}

// A neighbour that has used our adapter leaves: for us it is gone with its good-bye, not with that of its second way.
TEST(Faults, AGoodByeOverTheSecondWayIsNoDeath) {
  Job job({{.host = 0}, {.host = 0}, {.host = 1}});
  Words words(job, 0, 1);
  job.run([&](Rank self) { words.add(self, 1); });
  job.run([&](Rank self) {
    if (self == 1) job.worker(1).shutdown(std::chrono::seconds(5));
  });
  for (int i = 0; i < 500; ++i) job.pass();
  EXPECT_FALSE(job.worker(0).has_failed(1));
  EXPECT_FALSE(job.worker(2).has_failed(1));
  words.add(0, 1);
  EXPECT_EQ(words[0], 4U);
}

}  // namespace
}  // namespace godwit::atomics_test
