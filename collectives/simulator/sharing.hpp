// Sharing: how jobs that go on at the same time share resources: max-min fair, as fluids. No job can be faster without
// making one slower that is not faster than it. (TCP and the credits of InfiniBand come near to that; a real network
// is less fair, and its packets take turns.)
//
// A job has an amount of work (bytes, or seconds of a processor), and needs so much of each of its resources per unit
// of it. Rates change only when jobs begin or end, and only those of jobs that are linked by shared resources.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <span>
#include <vector>

namespace godwit::collectives::simulator {

using ResourceId = std::int32_t;
inline constexpr ResourceId no_resource = -1;
using JobId = std::uint32_t;

struct Use {
  ResourceId resource = no_resource;
  double per_unit = 1;
};

class Sharing {
 public:
  static constexpr double never = std::numeric_limits<double>::infinity();

  /// Capacities: units per second.
  explicit Sharing(const std::vector<double>& capacities);

  /// Begins a job of `work` units, at least one of `uses`. `owner` is for the caller.
  void start(double now, double work, std::span<const Use> uses, std::uint64_t owner);
  /// When the next job ends if nothing else begins; `never` if there is none. Settles what began and ended before.
  double next_end(double now);
  /// Ends one job that is due at `now` and gives its owner; false if there is none.
  bool pop(double now, std::uint64_t& owner);
  /// How much of each resource has been used since the beginning, in units.
  const std::vector<double>& used() const noexcept { return used_; }

 private:
  struct Job {
    double left = 0, rate = 0, since = 0;
    std::uint64_t owner = 0;
    std::uint32_t generation = 0;
    bool visited = false, frozen = false, active = false;
    std::vector<Use> uses;
    std::vector<std::uint32_t> slots;  // where it stands in the lists of its resources
  };
  struct Entry {
    JobId job;
    std::uint32_t use;  // which of its uses
  };
  struct Resource {
    double capacity = 0, left = 0, weight = 0;
    std::uint32_t open = 0;  // jobs not frozen yet
    bool dirty = false, visited = false;
    std::vector<Entry> jobs;
  };
  struct End {
    double time;
    JobId job;
    std::uint32_t generation;
    bool operator>(const End& other) const noexcept { return time != other.time ? time > other.time : job > other.job; }
  };

  void touch(ResourceId resource);
  void remove(JobId id);
  void settle(double now);
  void collect(ResourceId first);
  void fill(double now);
  void freeze(JobId id, double rate);
  void set_rate(Job& job, JobId id, double rate, double now);

  std::vector<Resource> resources_;
  std::vector<Job> jobs_;
  std::vector<JobId> free_;
  std::vector<ResourceId> dirty_;
  std::vector<ResourceId> part_resources_;  // of the part that is being shared anew
  std::vector<JobId> part_jobs_;
  std::vector<double> used_;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
};

}  // namespace godwit::collectives::simulator
