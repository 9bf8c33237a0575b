#include "pmi/environment.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <array>
#include <charconv>
#include <vector>

#include <unistd.h>

namespace godwit::pmi {
namespace {

/// A variable by which some launcher says how many ranks there are, and what its user should do.
struct Claim {
  std::string_view variable;
  std::string_view launcher;
  std::string_view only_with;  // counts only if this variable is set too; empty: always
  std::string_view advice;
};

constexpr std::string_view slurm_advice =
    "start it with `srun --mpi=pmix ...` (`srun --mpi=list` shows whether this Slurm has it), or with Open MPI's "
    "mpirun or torchrun inside the allocation";
constexpr std::string_view hydra_advice =
    "MPICH's launcher speaks PMI-1 and PMI-2 only: start it with `mpirun` of Open MPI (mpirun.openmpi on Debian), "
    "`srun --mpi=pmix ...`, torchrun, or `godwit run -n N -- ...` on one host";
constexpr std::string_view open_mpi_advice =
    "Open MPI's mpirun had set the PMIX_* variables: let them through whatever stands between it and the program "
    "(env -i, sudo, a container that cleans its environment, ssh)";

// In order: a Slurm step of another PMI flavour also has PMI_SIZE, and then Slurm's advice is the right one.
constexpr std::array<Claim, 5> claims{{
    {"SLURM_STEP_NUM_TASKS", "Slurm", "", slurm_advice},
    {"SLURM_NTASKS", "Slurm", "SLURM_PROCID", slurm_advice},
    {"OMPI_COMM_WORLD_SIZE", "Open MPI", "", open_mpi_advice},
    {"PMI_SIZE", "a PMI-1 or PMI-2 launcher (MPICH's mpiexec)", "", hydra_advice},
    {"MPI_LOCALNRANKS", "MPICH's mpiexec", "", hydra_advice},
}};

constexpr std::array torchrun_variables{"RANK", "WORLD_SIZE", "MASTER_ADDR"};

[[noreturn]] void refuse(const std::string& message) { throw Error(ErrorCode::bootstrap, message); }

/// torchrun inside a PMIx rank: several processes would all believe to be that one PMIx rank.
void refuse_nested_torchrun(const Variables& variables) {
  if (!value_of(variables, "TORCHELASTIC_RUN_ID")) return;
  const auto outer = value_of(variables, "PMIX_RANK"), inner = value_of(variables, "RANK");
  if (outer && inner && *outer != *inner) {
    refuse(
        fmt::format("two launchers claim this process: PMIX_RANK={} and torchrun's RANK={}; unset PMIX_NAMESPACE to "
                    "follow torchrun, or TORCHELASTIC_RUN_ID to follow PMIx",
                    *outer, *inner));
  }
}

/// True if torchrun's variables are complete. Throws if they claim several ranks and are not.
bool has_torchrun_variables(const Variables& variables) {
  std::string missing;
  for (const char* name : torchrun_variables) {
    if (!value_of(variables, name)) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", name);
  }
  if (missing.empty()) return true;
  const auto size = number_of(variables, "WORLD_SIZE"), rank = number_of(variables, "RANK");
  if (size.value_or(1) <= 1 && rank.value_or(0) <= 0) return false;
  refuse(
      fmt::format("{} says that this is one of several ranks, but {} {} not set: torchrun sets RANK, WORLD_SIZE, "
                  "MASTER_ADDR and MASTER_PORT; set all of them, or unset {} for a job of one process",
                  size.value_or(1) > 1 ? fmt::format("WORLD_SIZE={}", *size) : fmt::format("RANK={}", *rank), missing,
                  missing.find(',') == std::string::npos ? "is" : "are", size ? "WORLD_SIZE and RANK" : "RANK"));
}

void refuse_foreign_claims(const Variables& variables) {
  for (const Claim& claim : claims) {
    const std::string name(claim.variable);
    if (!claim.only_with.empty() && !value_of(variables, std::string(claim.only_with))) continue;
    const auto count = number_of(variables, name);
    if (count.value_or(1) <= 1) continue;
    refuse(
        fmt::format("{}={} says that {} started {} ranks, but there is no PMIx server to join them (PMIX_NAMESPACE "
                    "is not set): {}. For a job of one process, unset {}",
                    name, *count, claim.launcher, *count, claim.advice, name));
  }
}

}  // namespace

Variables environment_variables() {
  Variables variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos) variables.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

std::optional<std::string> value_of(const Variables& variables, const std::string& name) {
  const auto found = variables.find(name);
  if (found == variables.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

std::optional<long> number_of(const Variables& variables, const std::string& name) {
  const auto text = value_of(variables, name);
  if (!text) return std::nullopt;
  long number = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  if (error != std::errc{} || end != text->data() + text->size()) {
    refuse(fmt::format("{}='{}' is not a whole number; a launcher sets it, so whatever else has set it is wrong", name,
                       *text));
  }
  return number;
}

Method choose_method(const Variables& variables) {
  if (value_of(variables, "PMIX_NAMESPACE")) {
    refuse_nested_torchrun(variables);
    return Method::pmix;
  }
  if (has_torchrun_variables(variables)) return Method::tcp_store;
  refuse_foreign_claims(variables);
  return Method::single;
}

std::string pmix_launcher(const Variables& variables) {
  const std::string name = value_of(variables, "PMIX_NAMESPACE").value_or("");
  if (name.starts_with(run_namespace_prefix)) return "godwit run";
  if (name.starts_with("slurm.pmix.")) return "Slurm";
  if (value_of(variables, "OMPI_COMM_WORLD_SIZE")) return "Open MPI";
  if (name.starts_with("prte")) return "PRRTE";
  return "";
}

}  // namespace godwit::pmi
