// Which CPUs the ranks of `godwit run` get. Any thread.
#pragma once

#include <godwit/types.hpp>

#include <string>
#include <vector>

#include "pmi/cores.hpp"

namespace godwit::pmi {

enum class Bind : unsigned char { none, core, numa };

class Binding {
 public:
  /// Rank i gets the i-th unit; with more ranks than units they begin anew. `units` is not empty; with Bind::none it
  /// is one unit of all CPUs.
  Binding(Bind kind, std::vector<Cpus> units) : kind_(kind), units_(std::move(units)) {}
  /// Of this host, within the CPUs that the calling thread may run on. Throws Error(bootstrap).
  static Binding of_this_host(Bind kind);

  /// Empty: the rank is not to be bound.
  Cpus cpus_of(Rank rank) const;
  /// "rank 3 is bound to a core: CPUs 3, 67"
  std::string describe(Rank rank) const;
  /// One line when several ranks have to share a core, else empty.
  std::string shortage(int ranks) const;

 private:
  const Cpus& unit_of(Rank rank) const { return units_[static_cast<std::size_t>(rank) % units_.size()]; }

  Bind kind_;
  std::vector<Cpus> units_;
};

}  // namespace godwit::pmi
