// Ranks as processes: under torchrun's variables, and under Open MPI's mpirun.
#include "harness.hpp"

#include <csignal>
#include <memory>

namespace godwit::pmi {
namespace {

using test::Process;
using test::TemporaryDirectory;

/// Ranks started by hand with torchrun's variables.
class TorchJob {
 public:
  TorchJob(int size, std::uint16_t port, const std::vector<std::string>& arguments, Rank absent = -1) {
    std::vector<std::string> command{PMI_CLIENT};
    command.insert(command.end(), arguments.begin(), arguments.end());
    for (Rank rank = 0; rank < size; ++rank) {
      if (rank == absent) continue;
      const std::vector<std::string> environment{"PMIX_NAMESPACE",
                                                 "RANK=" + std::to_string(rank),
                                                 "WORLD_SIZE=" + std::to_string(size),
                                                 "LOCAL_RANK=" + std::to_string(rank),
                                                 "LOCAL_WORLD_SIZE=" + std::to_string(size),
                                                 "MASTER_ADDR=localhost",
                                                 "MASTER_PORT=" + std::to_string(port)};
      ranks.push_back(std::make_unique<Process>(command, environment));
    }
  }
  std::vector<std::unique_ptr<Process>> ranks;
};

TEST(TorchEnvironment, EveryRankGetsAllCards) {
  for (const int size : {1, 2, 5, 8}) {
    const TorchJob job(size, test::free_port(), {"30", "cards"});
    for (const auto& rank : job.ranks) {
      EXPECT_EQ(rank->wait(), 0) << rank->output();
      EXPECT_EQ(rank->count("has all cards"), 1) << rank->output();
    }
  }
}

TEST(TorchEnvironment, AnyKilledRankIsReported) {
  for (const Rank victim : {0, 1}) {
    const TorchJob job(3, test::free_port(), {"30", "die", std::to_string(victim)});
    for (Rank rank = 0; rank < 3; ++rank) {
      EXPECT_EQ(job.ranks[rank]->wait(), rank == victim ? 128 + SIGKILL : 0) << job.ranks[rank]->output();
    }
  }
}

TEST(TorchEnvironment, ARankKilledInStartUpFailsTheOthersAtOnce) {
  const TorchJob job(3, test::free_port(), {"600", "die-early", "2"});
  for (const Rank rank : {0, 1}) {
    EXPECT_EQ(job.ranks[rank]->wait(), 3);
    EXPECT_EQ(job.ranks[rank]->count("rank 2 (host "), 1) << job.ranks[rank]->output();
  }
}

TEST(TorchEnvironment, NamesAnAbsentRank) {
  const TorchJob job(3, test::free_port(), {"2", "cards"}, /*absent=*/1);
  for (const auto& rank : job.ranks) {
    EXPECT_EQ(rank->wait(), 3);
    EXPECT_EQ(rank->count("rank 1 never came"), 1) << rank->output();
  }
}

TEST(TorchEnvironment, RestartsAfterAllWereKilled) {
  const std::uint16_t port = test::free_port();
  {
    const TorchJob first(3, port, {"30", "wait"});
    for (const auto& rank : first.ranks) ASSERT_TRUE(rank->wait_for_output("waits")) << rank->output();
    for (const auto& rank : first.ranks) rank->signal(SIGKILL);
    for (const auto& rank : first.ranks) EXPECT_EQ(rank->wait(), 128 + SIGKILL);
  }
  const TorchJob second(3, port, {"30", "cards"});
  for (const auto& rank : second.ranks) EXPECT_EQ(rank->wait(), 0) << rank->output();
}

std::vector<std::string> mpirun(int ranks, const std::vector<std::string>& arguments) {
  std::vector<std::string> command{"mpirun.openmpi", "--oversubscribe", "-n", std::to_string(ranks), PMI_CLIENT};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

class Mpirun : public testing::Test {
 protected:
  void SetUp() override {
    Process probe({"mpirun.openmpi", "--version"});
    if (probe.wait() != 0) GTEST_SKIP() << "Open MPI's mpirun is not installed";
  }
  std::vector<std::string> environment() const {
    return {"OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1", directory.variable()};
  }
  TemporaryDirectory directory;  // mpirun leaves its own session directory there
};

TEST_F(Mpirun, EveryRankGetsAllCards) {
  for (const int size : {1, 2, 4}) {
    Process job(mpirun(size, {"30", "cards"}), environment());
    EXPECT_EQ(job.wait(), 0) << job.output();
    EXPECT_EQ(job.count("has all cards"), size) << job.output();
    EXPECT_EQ(job.count("via PMIx 4.2 (Open MPI)"), size) << job.output();
  }
}

TEST_F(Mpirun, NamesARankThatIsNotReady) {
  Process job(mpirun(3, {"2", "absent", "1"}), environment());
  EXPECT_EQ(job.wait(), 3) << job.output();
  EXPECT_GE(job.count("rank 1 did not come"), 1) << job.output();
}

TEST_F(Mpirun, AbortEndsTheJobWithItsStatus) {
  Process job(mpirun(3, {"30", "abort", "1", "9"}), environment());
  EXPECT_EQ(job.wait(), 9) << job.output();
}

TEST(Pmix, AServerThatIsGoneIsAnError) {
  const std::vector<std::string> stale{
      "PMIX_NAMESPACE=gone", "PMIX_RANK=3",
      "PMIX_SERVER_URI41=gone.0;tcp4://127.0.0.1:" + std::to_string(test::free_port())};
  Process rank({PMI_CLIENT, "10", "cards"}, stale);
  EXPECT_EQ(rank.wait(), 3) << rank.output();
  EXPECT_EQ(rank.count("the PMIx server of job gone cannot be joined as rank 3"), 1) << rank.output();
}

TEST(Pmix, AServerThatDoesNotAnswerIsAnError) {
  const test::Listener silent(test::free_port());
  const std::vector<std::string> deaf{"PMIX_NAMESPACE=deaf", "PMIX_RANK=0",
                                      "PMIX_SERVER_URI41=deaf.0;tcp4://127.0.0.1:" + std::to_string(silent.port())};
  Process rank({PMI_CLIENT, "2", "cards"}, deaf);
  EXPECT_EQ(rank.wait(), 3) << rank.output();
  EXPECT_EQ(rank.count("the PMIx server of job deaf cannot be joined as rank 0"), 1) << rank.output();
}

TEST(NoLauncher, IsAJobOfOne) {
  Process alone({PMI_CLIENT, "10", "cards"});
  EXPECT_EQ(alone.wait(), 0);
  EXPECT_EQ(alone.count("rank 0 of 1 (local 0 of 1, nodes 1) has all cards"), 1) << alone.output();
}

TEST(NoLauncher, SrunWithoutPmixIsRefused) {
  Process rank({PMI_CLIENT, "10", "cards"}, {"SLURM_NTASKS=4", "SLURM_PROCID=2"});
  EXPECT_EQ(rank.wait(), 3);
  EXPECT_EQ(rank.count("srun --mpi=pmix"), 1) << rank.output();
}

}  // namespace
}  // namespace godwit::pmi
