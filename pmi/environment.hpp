// Which bootstrap this process is meant to use: a pure function of its environment's variables.
#pragma once

#include "pmi/settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace godwit::pmi {

enum class Method : std::uint8_t { pmix, tcp_store, single };

/// All variables of this process.
Variables environment_variables();

/// PMIx if its variables are there, then torchrun's, then a job of one process. Throws Error(bootstrap) with
/// advice when the variables claim more than one rank in a way that Godwit cannot follow: never a silent
/// singleton.
Method choose_method(const Variables& variables);

/// Who provides PMIx: "Open MPI", "Slurm", "PRRTE", "godwit run", or empty if it cannot be told.
std::string pmix_launcher(const Variables& variables);

/// The namespaces of `godwit run` begin with this.
inline constexpr std::string_view run_namespace_prefix = "godwit-run.";

/// A variable's value; nothing if it is not set or empty.
std::optional<std::string> value_of(const Variables& variables, const std::string& name);
/// A variable as a whole number; nothing if it is not set. Throws Error(bootstrap) if it is not such a number.
std::optional<long> number_of(const Variables& variables, const std::string& name);

}  // namespace godwit::pmi
