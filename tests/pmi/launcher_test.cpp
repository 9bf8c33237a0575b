// `godwit run`: cards, deaths, exit statuses, output, and what it leaves behind.
#include "harness.hpp"

#include <algorithm>
#include <csignal>
#include <regex>
#include <set>

#include <fmt/format.h>

#include "pmi/cores.hpp"
#include "pmi/rank_list.hpp"

namespace godwit::pmi {
namespace {

using std::chrono::seconds;
using test::Process;

// ThreadSanitizer's deadlock detector cannot follow the locks that libpmix takes for more than 60 ranks.
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

class Launcher : public testing::Test {
 protected:
  /// `flags`, then -- and the command.
  std::unique_ptr<Process> start(std::vector<std::string> words, const std::vector<std::string>& extra = {}) {
    words.insert(words.begin(), PMI_LAUNCH);
    std::vector<std::string> environment = extra;
    environment.push_back(directory_.variable());
    return std::make_unique<Process>(words, environment);
  }
  std::unique_ptr<Process> start_client(int ranks, std::vector<std::string> flags,
                                        const std::vector<std::string>& mode) {
    flags.insert(flags.begin(), {"-n", std::to_string(ranks)});
    flags.insert(flags.end(), {"--", PMI_CLIENT});
    flags.insert(flags.end(), mode.begin(), mode.end());
    return start(flags);
  }
  void TearDown() override {
    if (!may_leave_files_) {
      EXPECT_EQ(directory_.entries(), std::vector<std::string>{});
    }
  }

  bool may_leave_files_ = false;

 private:
  test::TemporaryDirectory directory_;
};

TEST_F(Launcher, EveryRankGetsAllCards) {
  for (const int size : {1, 2, 5, 8}) {
    const auto job = start_client(size, {}, {"30", "cards"});
    EXPECT_EQ(job->wait(), 0) << job->output();
    EXPECT_EQ(job->count("has all cards"), size) << job->output();
    EXPECT_EQ(job->count("via PMIx 4.2 (godwit run)"), size) << job->output();
  }
}

TEST_F(Launcher, SurvivorsHearOfADeath) {
  const auto job = start_client(4, {"--keep-going"}, {"30", "die", "2"});
  EXPECT_EQ(job->wait(), 128 + SIGKILL);
  EXPECT_EQ(job->count("saw the death of 2: the launcher reports that it was killed by signal 9"), 3) << job->output();
  EXPECT_EQ(job->count("was killed by signal 9 (Killed)\n"), 3 + 1) << job->output();
  EXPECT_TRUE(
      std::regex_search(job->output(), std::regex("godwit run: rank 2 \\(pid [0-9]+\\) was killed by signal 9")));
}

TEST_F(Launcher, ADeathInStartUpIsNamed) {
  const auto job = start_client(4, {"--keep-going"}, {"600", "die-early", "2"});
  EXPECT_EQ(job->wait(), 128 + SIGKILL);
  EXPECT_EQ(job->count("rank 2 died: "), 3) << job->output();
}

TEST_F(Launcher, ARankThatLeftEarlyIsNamed) {
  const auto job = start_client(3, {"--keep-going"}, {"600", "leave-early", "1"});
  EXPECT_EQ(job->wait(), 3);
  EXPECT_EQ(job->count("rank 1 did not come"), 2) << job->output();
}

TEST_F(Launcher, AnAbsentRankIsNamed) {
  const auto job = start_client(3, {}, {"2", "absent", "1"});
  EXPECT_EQ(job->wait(), 3);
  EXPECT_GE(job->count("rank 1 did not come"), 1) << job->output();
}

// What each rank may use, in the words of /proc: "0" or "0-1,4".
std::vector<std::string> affinities(const Process& job) {
  std::vector<std::string> lists;
  const std::regex line("rank \\d+ on (\\S+)");
  const std::string& text = job.output();
  for (std::sregex_iterator it(text.begin(), text.end(), line), end; it != end; ++it) lists.push_back((*it)[1]);
  return lists;
}
const std::vector<std::string> print_affinity = {
    "sh", "-c", "echo rank $PMIX_RANK on `sed -n 's/Cpus_allowed_list:.//p' /proc/self/status`"};

std::vector<std::string> with_command(std::vector<std::string> flags) {
  flags.push_back("--");
  flags.insert(flags.end(), print_affinity.begin(), print_affinity.end());
  return flags;
}

TEST_F(Launcher, BindsToCores) {
  const auto cores = usable_units(Unit::core);
  const auto ranks = static_cast<int>(cores.size());
  const auto job = start(with_command({"-n", std::to_string(ranks), "--bind", "core", "--report-bindings"}));
  EXPECT_EQ(job->wait(), 0) << job->output();
  auto seen = affinities(*job);
  std::vector<std::string> expected;
  for (const Cpus& core : cores)
    if (core.size() == 1) expected.push_back(std::to_string(core[0]));
  if (expected.size() == cores.size()) {  // else the form of the list is the kernel's business
    std::sort(seen.begin(), seen.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(seen, expected) << job->output();
  }
  EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), cores.size()) << job->output();
  for (Rank rank = 0; rank < ranks; ++rank)
    EXPECT_EQ(job->count(fmt::format("godwit run: rank {} is bound to a core: {}\n", rank, cpu_list(cores[rank]))), 1)
        << job->output();
  EXPECT_EQ(job->count("and so on"), 0) << job->output();
}

TEST_F(Launcher, BindsWithinItsOwnCpus) {
  const int cpu = usable_units(Unit::core).back().back();
  for (const std::string kind : {"core", "numa"}) {
    auto words = with_command({"-n", "3", "--bind", kind});
    words.insert(words.begin(), {"taskset", "-c", std::to_string(cpu), PMI_LAUNCH});
    Process job(words);
    EXPECT_EQ(job.wait(), 0) << job.output();
    EXPECT_EQ(affinities(job), std::vector<std::string>(3, std::to_string(cpu))) << job.output();
    const std::string words_of_shortage = fmt::format("3 ranks on 1 core: rank 1 shares CPU {} with rank 0", cpu);
    EXPECT_EQ(job.count(words_of_shortage), kind == "core" ? 1 : 0) << job.output();
  }
}

TEST_F(Launcher, DoesNotBindUnlessAsked) {
  const auto job = start(with_command({"-n", "2", "--report-bindings"}));
  EXPECT_EQ(job->wait(), 0) << job->output();
  const auto seen = affinities(*job);
  ASSERT_EQ(seen.size(), 2U) << job->output();
  EXPECT_EQ(seen[0], seen[1]);
  EXPECT_EQ(job->count("is not bound: CPU"), 2) << job->output();
}

TEST_F(Launcher, ADeathEndsTheOthers) {
  const auto job = start_client(3, {}, {"30", "exit", "1", "7"});
  EXPECT_EQ(job->wait(), 7) << job->output();
  const auto killed = start({"-n", "3", "--", "sh", "-c", "if [ $PMIX_RANK = 1 ]; then kill -SEGV $$; fi; sleep 100"});
  EXPECT_EQ(killed->wait(), 128 + SIGSEGV) << killed->output();
  EXPECT_EQ(killed->count("godwit run: rank"), 1) << killed->output();
}

TEST_F(Launcher, LeavingWithoutGoodbyeIsAFailure) {
  const auto job = start_client(3, {}, {"30", "dirty", "1"});
  EXPECT_EQ(job->wait(), 1);
  EXPECT_EQ(job->count("godwit run: rank 1"), 1) << job->output();
  EXPECT_EQ(job->count("PMIx_Finalize"), 1) << job->output();
  const auto other = start({"-n", "2", "--", "true"});  // never joined: nothing to leave
  EXPECT_EQ(other->wait(), 0) << other->output();
}

TEST_F(Launcher, AbortEndsTheJobWithItsStatus) {
  for (const std::vector<std::string>& flags : {std::vector<std::string>{}, {"--keep-going"}}) {
    const auto job = start_client(3, flags, {"30", "abort", "1", "9"});
    EXPECT_EQ(job->wait(), 9) << job->output();
    EXPECT_EQ(job->count("rank 1 called abort(9): told so"), 1) << job->output();
  }
}

TEST_F(Launcher, ASignalEndsEverything) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    const auto job = start_client(3, {}, {"30", "wait"});
    ASSERT_TRUE(job->wait_for_output("waits", 3)) << job->output();
    job->signal(signal);
    EXPECT_EQ(job->wait(), 128 + signal) << job->output();
  }
}

TEST_F(Launcher, ASignalDuringTheStartEndsEverything) {
  const auto job = start({"-n", "40", "--", "sh", "-c", "echo started; sleep 100"});
  ASSERT_TRUE(job->wait_for_output("started", 1));
  job->signal(SIGTERM);
  EXPECT_EQ(job->wait(), 128 + SIGTERM) << job->output();
}

TEST_F(Launcher, KillsWhoIgnoresSigterm) {
  const auto job = start_client(3, {}, {"30", "stubborn", "1"});
  EXPECT_EQ(job->wait(), 1);
  EXPECT_EQ(job->count("2 of 3 ranks did not end within 2 s"), 1) << job->output();
}

TEST_F(Launcher, LeavesNoGrandchildren) {
  // The output stays open as long as one of them lives: wait() would not return.
  const auto job = start({"-n", "2", "--", "sh", "-c", "sleep 1000 & sleep 1000 & exit 0"});
  EXPECT_EQ(job->wait(), 0) << job->output();
}

TEST_F(Launcher, RanksDieWithTheLauncher) {
  may_leave_files_ = true;  // nobody can clean up after SIGKILL
  // A single rank writes straight to our pipe: that ends when the rank has.
  const auto job = start({"-n", "1", "--", "sh", "-c", "echo up; exec sleep 1000"});
  ASSERT_TRUE(job->wait_for_output("up", 1));
  job->signal(SIGKILL);
  EXPECT_EQ(job->wait(), 128 + SIGKILL);
}

TEST_F(Launcher, SaysThatAProgramCannotBeRun) {
  const auto missing = start({"-n", "3", "--", "/no/such/program"});
  EXPECT_EQ(missing->wait(), 127);
  EXPECT_EQ(missing->count("cannot run /no/such/program: No such file or directory"), 1) << missing->output();
  const auto forbidden = start({"-n", "3", "--", "/etc/passwd"});
  EXPECT_EQ(forbidden->wait(), 127);
  EXPECT_EQ(forbidden->count("Permission denied"), 1) << forbidden->output();
}

TEST_F(Launcher, RefusesBadOptions) {
  EXPECT_EQ(start({"-n", "0", "--", "true"})->wait(), 2);
  EXPECT_EQ(start({"-n", "2", "--"})->wait(), 2);
  EXPECT_EQ(start({"-n", "2", "-x", "NOVALUE", "--", "true"})->wait(), 2);
}

TEST_F(Launcher, SetsAndHidesVariables) {
  const auto job = start({"-n", "1", "-x", "COLOUR=green", "-x", "SHAPE=", "--", "env"},
                         {"COLOUR=red", "PMIX_NAMESPACE=outer", "PMIX_SERVER_URI41=outer", "OMPI_COMM_WORLD_RANK=5",
                          "PMI_RANK=4", "WORLD_SIZE=8", "RANK=3"});
  ASSERT_EQ(job->wait(), 0) << job->output();
  EXPECT_EQ(job->count("COLOUR=green\n"), 1);
  EXPECT_EQ(job->count("COLOUR="), 1);
  EXPECT_EQ(job->count("SHAPE=\n"), 1);
  EXPECT_EQ(job->count("PMIX_RANK=0\n"), 1);
  EXPECT_EQ(job->count("outer"), 0);
  for (const char* hidden : {"OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "WORLD_SIZE=", "\nRANK="})
    EXPECT_EQ(job->count(hidden), 0) << hidden;
}

TEST_F(Launcher, KeepsLinesWhole) {
  // Each line is written in two pieces, with other ranks' pieces in between.
  const std::string script =
      "for i in $(seq 200); do printf \"<$PMIX_RANK:$i\"; printf \":$PMIX_RANK>\\n\"; done; printf last";
  const auto job = start({"-n", "4", "--", "sh", "-c", script});
  ASSERT_EQ(job->wait(), 0);
  std::istringstream lines(job->output());
  std::string line;
  int good = 0, last = 0;
  while (std::getline(lines, line)) {
    if (line == "last")
      ++last;
    else if (std::regex_match(line, std::regex("<([0-9]+):[0-9]+:\\1>")))
      ++good;
    else
      ADD_FAILURE() << "broken line: " << line;
  }
  EXPECT_EQ(good, 800);
  EXPECT_EQ(last, 4);
}

TEST_F(Launcher, TagsLinesOfBothKinds) {
  const auto job = start({"-n", "3", "--tag-output", "--", "sh", "-c", "echo out; echo err >&2; printf end"});
  ASSERT_EQ(job->wait(), 0);
  for (const char* line : {"[0] out\n", "[1] out\n", "[2] out\n", "[0] err\n", "[1] err\n", "[2] err\n", "[2] end\n"})
    EXPECT_EQ(job->count(line), 1) << line << "\n" << job->output();
}

TEST_F(Launcher, GivesStandardInputToRank0Only) {
  const auto job = start({"-n", "2", "--tag-output", "--", "sh", "-c", "cat"});
  // The input is that of the test; /dev/null under ctest. It must end for both.
  EXPECT_EQ(job->wait(), 0) << job->output();
}

TEST_F(Launcher, EndsWhenNobodyReadsTheOutput) {
  const auto job =
      start({"-n", "1", "--", "sh", "-c",
             std::string(PMI_LAUNCH) + " -n 3 -- sh -c 'while echo line; do :; done' | head -n 5 >/dev/null"});
  EXPECT_EQ(job->wait(), 0) << job->output();
}

TEST_F(Launcher, ForwardsUserSignals) {
  const auto job =
      start({"-n", "2", "--", "sh", "-c", "trap 'echo got it; exit 0' USR1; echo ready; while :; do sleep 0.1; done"});
  ASSERT_TRUE(job->wait_for_output("ready", 2));
  job->signal(SIGUSR1);
  EXPECT_EQ(job->wait(), 0) << job->output();
  EXPECT_EQ(job->count("got it"), 2) << job->output();
}

TEST_F(Launcher, StartsAFewHundredRanks) {
  const auto job = start_client(sanitized ? 16 : 200, {}, {"120", "exchange"});
  EXPECT_EQ(job->wait(seconds(150)), 0) << job->output();
}

TEST_F(Launcher, RunsInsideAnotherJob) {
  const auto job = start({"-n", "2", "--", PMI_LAUNCH, "-n", "2", "--", PMI_CLIENT, "30", "cards"});
  EXPECT_EQ(job->wait(), 0) << job->output();
  EXPECT_EQ(job->count(" of 2 (local "), 4) << job->output();
}

}  // namespace
}  // namespace godwit::pmi
