#include "pmi/binding.hpp"

#include "pmi/rank_list.hpp"

#include <fmt/format.h>
#include <godwit/error.hpp>

#include <algorithm>

namespace godwit::pmi {

Binding Binding::of_this_host(Bind kind) {
  std::vector<Cpus> units = usable_units(kind == Bind::numa ? Unit::numa : Unit::core);
  if (units.empty())
    throw Error(ErrorCode::bootstrap,
                "godwit run: hwloc sees no core or NUMA node with a CPU that this process may use");
  if (kind == Bind::none) {
    Cpus all;
    for (const Cpus& unit : units) all.insert(all.end(), unit.begin(), unit.end());
    std::sort(all.begin(), all.end());
    units = {std::move(all)};
  }
  return {kind, std::move(units)};
}

Cpus Binding::cpus_of(Rank rank) const { return kind_ == Bind::none ? Cpus{} : unit_of(rank); }

std::string Binding::describe(Rank rank) const {
  constexpr const char* words[] = {"is not bound", "is bound to a core", "is bound to a NUMA node"};
  return fmt::format("rank {} {}: {}", rank, words[static_cast<int>(kind_)], cpu_list(unit_of(rank)));
}

std::string Binding::shortage(int ranks) const {
  const auto cores = static_cast<int>(units_.size());
  if (kind_ != Bind::core || ranks <= cores) return {};
  return fmt::format("{} ranks on {} core{}: rank {} shares {} with rank 0, and so on", ranks, cores,
                     cores == 1 ? "" : "s", cores, cpu_list(units_[0]));
}

}  // namespace godwit::pmi
