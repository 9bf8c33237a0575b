// Which bootstrap an environment asks for: a table.
#include "pmi/environment.hpp"

#include <gtest/gtest.h>
#include <godwit/error.hpp>

#include <string>
#include <vector>

namespace godwit::pmi {
namespace {

struct Case {
  const char* name;
  Variables variables;
  std::optional<Method> method;       // nothing: refused
  std::vector<std::string> mentions;  // words of the refusal
};

const std::vector<Case>& cases() {
  static const std::vector<Case> list{
      {"plain", {}, Method::single, {}},
      {"mpirun", {{"PMIX_NAMESPACE", "1234"}, {"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "4"}}, Method::pmix, {}},
      {"srun_pmix", {{"PMIX_NAMESPACE", "slurm.pmix.1.0"}, {"SLURM_STEP_NUM_TASKS", "4"}}, Method::pmix, {}},
      {"pmix_before_torchrun",
       {{"PMIX_NAMESPACE", "1"}, {"PMIX_RANK", "1"}, {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}},
       Method::pmix,
       {}},
      {"torchrun_in_pmix",
       {{"PMIX_NAMESPACE", "1"}, {"PMIX_RANK", "0"}, {"RANK", "3"}, {"TORCHELASTIC_RUN_ID", "x"}},
       {},
       {"PMIX_RANK=0", "RANK=3", "unset PMIX_NAMESPACE"}},
      {"torchrun",
       {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"}},
       Method::tcp_store,
       {}},
      {"torchrun_default_port", {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}}, Method::tcp_store, {}},
      {"torchrun_in_slurm",
       {{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "h"}, {"SLURM_STEP_NUM_TASKS", "2"}},
       Method::tcp_store,
       {}},
      {"world_size_alone", {{"WORLD_SIZE", "2"}}, {}, {"WORLD_SIZE=2", "RANK, MASTER_ADDR are not set"}},
      {"no_master", {{"WORLD_SIZE", "2"}, {"RANK", "0"}}, {}, {"MASTER_ADDR is not set"}},
      {"empty_is_unset", {{"WORLD_SIZE", "2"}, {"RANK", ""}, {"MASTER_ADDR", "h"}}, {}, {"RANK is not set"}},
      {"rank_alone", {{"RANK", "3"}}, {}, {"RANK=3", "WORLD_SIZE"}},
      {"rank_0_alone", {{"RANK", "0"}}, Method::single, {}},
      {"world_of_one", {{"WORLD_SIZE", "1"}}, Method::single, {}},
      {"master_alone", {{"MASTER_ADDR", "h"}, {"MASTER_PORT", "1"}}, Method::single, {}},
      {"malformed_world", {{"WORLD_SIZE", "two"}}, {}, {"WORLD_SIZE='two'", "whole number"}},
      {"srun_without_pmix",
       {{"SLURM_STEP_NUM_TASKS", "4"}, {"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}},
       {},
       {"SLURM_STEP_NUM_TASKS=4", "srun --mpi=pmix"}},
      {"slurm_ntasks_procid",
       {{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "2"}},
       {},
       {"SLURM_NTASKS=4", "srun --mpi=pmix"}},
      {"salloc_shell", {{"SLURM_NTASKS", "4"}, {"SLURM_JOB_ID", "7"}}, Method::single, {}},
      {"srun_one_task",
       {{"SLURM_STEP_NUM_TASKS", "1"}, {"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}},
       Method::single,
       {}},
      {"srun_pmi2",
       {{"SLURM_STEP_NUM_TASKS", "2"}, {"PMI_FD", "5"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "0"}},
       {},
       {"srun --mpi=pmix"}},
      {"hydra", {{"PMI_FD", "5"}, {"PMI_SIZE", "2"}, {"PMI_RANK", "0"}}, {}, {"PMI_SIZE=2", "MPICH", "godwit run"}},
      {"hydra_one", {{"PMI_SIZE", "1"}}, Method::single, {}},
      {"hydra_pmi_port", {{"PMI_PORT", "h:1"}, {"MPI_LOCALNRANKS", "3"}}, {}, {"MPI_LOCALNRANKS=3", "MPICH"}},
      {"open_mpi_cut_off", {{"OMPI_COMM_WORLD_SIZE", "4"}}, {}, {"OMPI_COMM_WORLD_SIZE=4", "PMIX_", "container"}},
      {"malformed_foreign", {{"PMI_SIZE", "4x"}}, {}, {"PMI_SIZE='4x'"}},
  };
  return list;
}

class ChooseMethod : public testing::TestWithParam<Case> {};

TEST_P(ChooseMethod, FollowsOrRefuses) {
  const Case& test = GetParam();
  if (test.method) {
    EXPECT_EQ(choose_method(test.variables), *test.method);
    return;
  }
  try {
    choose_method(test.variables);
    FAIL() << "not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::bootstrap);
    for (const std::string& word : test.mentions)
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << word << " is not in: " << error.what();
  }
}

INSTANTIATE_TEST_SUITE_P(Table, ChooseMethod, testing::ValuesIn(cases()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(PmixLauncher, IsTold) {
  EXPECT_EQ(pmix_launcher({{"PMIX_NAMESPACE", "godwit-run.77"}}), "godwit run");
  EXPECT_EQ(pmix_launcher({{"PMIX_NAMESPACE", "slurm.pmix.5.0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), "Slurm");
  EXPECT_EQ(pmix_launcher({{"PMIX_NAMESPACE", "676462593"}, {"OMPI_COMM_WORLD_SIZE", "2"}}), "Open MPI");
  EXPECT_EQ(pmix_launcher({{"PMIX_NAMESPACE", "prterun-node1-99@1"}}), "PRRTE");
  EXPECT_EQ(pmix_launcher({{"PMIX_NAMESPACE", "something"}}), "");
}

}  // namespace
}  // namespace godwit::pmi
