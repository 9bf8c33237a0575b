// The part of the verifier that looks at one schedule alone. It finds conflicts by itself, without the builder's
// bookkeeping, so that a defect there shows.
#include "collectives/interval_map.hpp"
#include "collectives/verifier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace godwit::collectives {

namespace {

class Structure {
 public:
  Structure(const Problem& problem, Rank rank, const Schedule& schedule)
      : problem_(problem), rank_(rank), schedule_(schedule), seen_(schedule.steps.size(), 0) {}

  std::string check() {
    for (index_ = 0; index_ < schedule_.steps.size() && wrong_.empty(); ++index_) {
      const Step& step = schedule_.steps[index_];
      check_form(step);
      if (!wrong_.empty()) break;
      if (step.reads_left()) read(step.left, step.count);
      if (step.reads_right()) read(step.right, step.count);
      if (step.writes()) write(step.target, step.count);
    }
    return wrong_;
  }

 private:
  struct Users {
    std::int64_t writer = -1;
    std::vector<StepIndex> readers;
  };

  void fail(const std::string& what) {
    if (wrong_.empty())
      wrong_ = fmt::format("rank {}, step {} ({}): {}", rank_, index_, to_string(schedule_.steps[index_]), what);
  }

  void check_form(const Step& step) {
    if (std::size_t{step.first_dependency} + step.dependency_count > schedule_.dependencies.size())
      return fail("has dependencies outside the list of dependencies");
    for (StepIndex dependency : schedule_.dependencies_of(step))
      if (dependency >= index_) fail(fmt::format("depends on step {}, which is not before it", dependency));
    const bool message = step.kind == StepKind::send || step.kind == StepKind::recv;
    if (message && (step.peer < 0 || step.peer >= problem_.size || step.peer == rank_))
      fail(fmt::format("peer {} is not another rank", step.peer));
    if (step.kind == StepKind::scale && step.left != step.target) fail("scales from one place to another");
    if (step.reads_left()) check_bounds(step.left, step.count);
    if (step.reads_right()) check_bounds(step.right, step.count);
    if (!step.writes()) return;
    check_bounds(step.target, step.count);
    if (step.count != 0 && writes_input(step)) fail("overwrites the input");
  }

  /// In place, the part of the input that is the output may be written.
  bool writes_input(const Step& step) const {
    const Place target = canonical(problem_, rank_, step.target);
    if (target.buffer != Buffer::input) return false;
    const Place output = canonical(problem_, rank_, {Buffer::output, 0});
    return output.buffer != Buffer::input || target.offset < output.offset ||
           target.offset + step.count > output.offset + problem_.output_count(rank_);
  }

  void check_bounds(Place place, std::uint64_t count) {
    const std::uint64_t extents[] = {problem_.input_count(rank_), problem_.output_count(rank_),
                                     schedule_.scratch_count};
    const std::uint64_t extent = extents[static_cast<std::size_t>(place.buffer)];
    if (place.offset > extent || count > extent - place.offset) {
      if (count != 0) fail(fmt::format("leaves its buffer of {} elements", extent));
    }
  }

  IntervalMap<Users>& users(Place place) { return users_[static_cast<std::size_t>(place.buffer)]; }

  void read(Place place, std::uint64_t count) {
    place = canonical(problem_, rank_, place);
    users(place).for_each(place.offset, place.offset + count, [&](auto, auto, Users& u) {
      if (u.writer >= 0) expect_path(static_cast<StepIndex>(u.writer), "reads what step {} writes");
      u.readers.push_back(index_);
    });
  }

  void write(Place place, std::uint64_t count) {
    place = canonical(problem_, rank_, place);
    users(place).look(place.offset, place.offset + count, [&](auto, auto, const Users& u) {
      if (u.writer >= 0) expect_path(static_cast<StepIndex>(u.writer), "writes what step {} writes");
      for (StepIndex reader : u.readers) expect_path(reader, "overwrites what step {} reads");
    });
    users(place).assign(place.offset, place.offset + count, Users{index_, {}});
  }

  void expect_path(StepIndex from, std::string_view conflict) {
    if (from == index_ || path(from)) return;
    fail(fmt::format("race: {} ({}), and nothing orders the two", fmt::format(fmt::runtime(conflict), from),
                     to_string(schedule_.steps[from])));
  }

  /// Depth first, backwards from the current step, not beyond `from`. Nearly always a direct dependency.
  bool path(StepIndex from) {
    const auto direct = schedule_.dependencies_of(schedule_.steps[index_]);
    if (std::find(direct.begin(), direct.end(), from) != direct.end()) return true;
    ++search_;
    std::vector<StepIndex> open{index_};
    while (!open.empty()) {
      const StepIndex step = open.back();
      open.pop_back();
      for (StepIndex dependency : schedule_.dependencies_of(schedule_.steps[step])) {
        if (dependency == from) return true;
        if (dependency < from || seen_[dependency] == search_) continue;
        seen_[dependency] = search_;
        open.push_back(dependency);
      }
    }
    return false;
  }

  const Problem& problem_;
  Rank rank_;
  const Schedule& schedule_;
  StepIndex index_ = 0;
  std::array<IntervalMap<Users>, 3> users_;
  std::vector<std::uint64_t> seen_;
  std::uint64_t search_ = 0;
  std::string wrong_;
};

}  // namespace

std::string verify_structure(const Problem& problem, Rank rank, const Schedule& schedule) {
  return Structure(problem, rank, schedule).check();
}

}  // namespace godwit::collectives
