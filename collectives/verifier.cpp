#include "collectives/verifier.hpp"

#include "collectives/contributions.hpp"
#include "collectives/walk.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace godwit::collectives {

namespace {

using Buffers = std::array<Contents, 3>;  // by canonical place

struct Piece {
  std::uint64_t begin, end;
  Content content;
};

class Verifier : public WalkObserver {
 public:
  Verifier(const std::vector<Problem>& problems, std::span<const Plan> plans)
      : problems_(problems), plans_(plans), sets_(problems[0].size), buffers_(plans.size()) {
    for (const Plan& plan : plans) heard_.emplace_back(plan.size(), RankSets::nothing);
    for (std::size_t r = 0; r < plans.size(); ++r) fill_input(static_cast<Rank>(r));
  }

  void local(Rank rank, StepIndex index) override {
    const Step& step = this->step(rank, index);
    if (step.kind == StepKind::reduce)
      reduce(rank, index);
    else
      move(rank, index, rank, index, step.kind == StepKind::scale);
    if (is_barrier()) heard(rank, index) = heard_before(rank, index);
  }

  void transfer(Rank from, StepIndex send, Rank to, StepIndex recv) override {
    const std::uint64_t sent = step(from, send).count, expected = step(to, recv).count;
    if (sent != expected)
      fail(to, recv, fmt::format("{} elements expected, step {} of rank {} sends {}", expected, send, from, sent));
    else
      move(from, send, to, recv, false);
    if (!is_barrier()) return;
    heard(from, send) = heard_before(from, send);
    heard(to, recv) = sets_.unite(heard_before(to, recv), heard(from, send));
  }

  bool stop() const override { return !wrong_.empty(); }
  const std::string& wrong() const { return wrong_; }

  void check_outputs() {
    for (std::size_t r = 0; r < plans_.size() && wrong_.empty(); ++r) {
      const auto rank = static_cast<Rank>(r);
      if (is_barrier())
        check_heard(rank);
      else
        check_output(rank);
    }
  }

 private:
  bool is_barrier() const { return problems_[0].collective == Collective::barrier; }
  const Problem& problem(Rank rank) const { return problems_[static_cast<std::size_t>(rank)]; }
  const Step& step(Rank rank, StepIndex index) const { return plans_[static_cast<std::size_t>(rank)].step(index); }
  RankSets::Name& heard(Rank rank, StepIndex index) { return heard_[static_cast<std::size_t>(rank)][index]; }
  Contents& contents(Rank rank, Place place) {
    return buffers_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(place.buffer)];
  }

  void fail(Rank rank, StepIndex index, const std::string& what) {
    if (wrong_.empty())
      wrong_ = fmt::format("rank {}, step {} ({}): {}", rank, index, to_string(step(rank, index)), what);
  }

  void fill_input(Rank rank) {
    const Place input = canonical(problem(rank), rank, {Buffer::input, 0});
    contents(rank, input)
        .assign(input.offset, input.offset + problem(rank).input_count(rank),
                Content{sets_.single(rank), -static_cast<std::int64_t>(input.offset)});
  }

  /// Content of [place, place + count), positions relative to place, shifts too.
  std::vector<Piece> read(Rank rank, StepIndex index, Place place, std::uint64_t count) {
    std::vector<Piece> pieces;
    place = canonical(problem(rank), rank, place);
    contents(rank, place).look(place.offset, place.offset + count, [&](auto begin, auto end, const Content& content) {
      if (content.ranks == RankSets::nothing)
        fail(rank, index, fmt::format("reads {} elements from {} on that nobody has written", end - begin, begin));
      Piece piece{begin - place.offset, end - place.offset, content};
      piece.content.shift += static_cast<std::int64_t>(place.offset);
      pieces.push_back(piece);
    });
    return pieces;
  }

  void write(Rank rank, Place place, const std::vector<Piece>& pieces) {
    place = canonical(problem(rank), rank, place);
    for (Piece piece : pieces) {
      piece.content.shift -= static_cast<std::int64_t>(place.offset);
      contents(rank, place).assign(place.offset + piece.begin, place.offset + piece.end, piece.content);
    }
  }

  void move(Rank from, StepIndex source, Rank to, StepIndex target, bool scale) {
    std::vector<Piece> pieces = read(from, source, step(from, source).left, step(from, source).count);
    for (Piece& piece : pieces) {
      if (scale && piece.content.scaled) fail(to, target, "scales a second time");
      piece.content.scaled |= scale;
    }
    write(to, step(to, target).target, pieces);
  }

  void reduce(Rank rank, StepIndex index) {
    const Step& s = step(rank, index);
    const std::vector<Piece> left = read(rank, index, s.left, s.count), right = read(rank, index, s.right, s.count);
    std::vector<Piece> sum;
    for (auto l = left.begin(), r = right.begin(); l != left.end() && r != right.end() && wrong_.empty();) {
      const std::uint64_t begin = std::max(l->begin, r->begin), end = std::min(l->end, r->end);
      sum.push_back({begin, end, combine(rank, index, l->content, r->content)});
      if (l->end == end) ++l;
      if (r->end == end) ++r;
    }
    write(rank, s.target, sum);
  }

  Content combine(Rank rank, StepIndex index, const Content& left, const Content& right) {
    if (left.scaled || right.scaled) fail(rank, index, "reduces what is already scaled");
    if (left.shift != right.shift) fail(rank, index, "reduces elements of different positions");
    if (const auto twice = sets_.common(left.ranks, right.ranks))
      fail(rank, index,
           fmt::format("the contribution of rank {} comes in twice: {} and {}", *twice, sets_.describe(left.ranks),
                       sets_.describe(right.ranks)));
    else if (!problem(rank).commutative && !sets_.precedes(left.ranks, right.ranks))
      fail(rank, index,
           fmt::format("{} op {} is not in the order of ranks", sets_.describe(left.ranks),
                       sets_.describe(right.ranks)));
    return {sets_.unite(left.ranks, right.ranks), left.shift, false};
  }

  RankSets::Name heard_before(Rank rank, StepIndex index) {
    RankSets::Name all = sets_.single(rank);
    const Schedule& schedule = plans_[static_cast<std::size_t>(rank)].schedule();
    for (StepIndex dependency : schedule.dependencies_of(schedule.steps[index]))
      all = sets_.unite(all, heard(rank, dependency));
    return all;
  }

  void check_heard(Rank rank) {
    RankSets::Name all = sets_.single(rank);
    for (RankSets::Name at_step : heard_[static_cast<std::size_t>(rank)]) all = sets_.unite(all, at_step);
    if (all != sets_.all())
      wrong_ = fmt::format("rank {} leaves the barrier having heard of {} only", rank, sets_.describe(all));
  }

  /// What element `e` of the output must hold; alike for a whole block of `count` elements.
  Content expected(Rank rank, std::uint64_t block) {
    const Problem& p = problem(rank);
    const auto source = static_cast<Rank>(block);
    const auto begin = [](Range range) { return static_cast<std::int64_t>(range.begin); };
    switch (without_v(p.collective)) {
      case Collective::broadcast: return {sets_.single(p.root), 0};
      case Collective::scatter: return {sets_.single(p.root), begin(problem(p.root).input_block(rank))};
      case Collective::gather:
      case Collective::allgather: return {sets_.single(source), -begin(p.output_block(source))};
      case Collective::alltoall:
        return {sets_.single(source), begin(problem(source).input_block(rank)) - begin(p.output_block(source))};
      case Collective::reduce_scatter: return {sets_.all(), begin(p.input_block(rank)), p.op == ReduceOp::avg};
      case Collective::scan: return {sets_.first(rank + 1), 0};
      case Collective::exscan: return {sets_.first(rank), 0};
      default: return {sets_.all(), 0, p.op == ReduceOp::avg};
    }
  }

  void check_output(Rank rank) {
    const Problem& p = problem(rank);
    if (p.receives) {
      for (int block = 0; block < p.size; ++block)
        check_block(rank, p.output_block(block), static_cast<std::uint64_t>(block));
      return;
    }
    for (std::uint64_t begin = 0, block = 0; begin < p.output_count(rank); begin += p.count, ++block)
      check_block(rank, {begin, begin + p.count}, block);
  }

  void check_block(Rank rank, Range range, std::uint64_t block) {
    if (range.size() == 0) return;
    const Place place = canonical(problem(rank), rank, {Buffer::output, range.begin});
    Content want = expected(rank, block);
    want.shift += static_cast<std::int64_t>(range.begin) - static_cast<std::int64_t>(place.offset);
    contents(rank, place).look(place.offset, place.offset + range.size(), [&](auto from, auto to, const Content& have) {
      if (have == want || !wrong_.empty()) return;
      wrong_ = fmt::format("rank {}: output [{}..{}) holds {} of {} with shift {}, not {} of {} with shift {}", rank,
                           range.begin + from - place.offset, range.begin + to - place.offset,
                           have.scaled ? "the average" : "the data", sets_.describe(have.ranks), have.shift,
                           want.scaled ? "the average" : "the data", sets_.describe(want.ranks), want.shift);
    });
  }

  const std::vector<Problem>& problems_;
  std::span<const Plan> plans_;
  RankSets sets_;
  std::vector<Buffers> buffers_;
  std::vector<std::vector<RankSets::Name>> heard_;  // barrier: whom a rank has heard of when a step is complete
  std::string wrong_;
};

}  // namespace

std::string verify(const std::vector<Problem>& problems, std::vector<Schedule> schedules, std::uint32_t seed) {
  std::vector<Plan> plans;
  for (std::size_t r = 0; r < schedules.size(); ++r) {
    std::string wrong = verify_structure(problems[r], static_cast<Rank>(r), schedules[r]);
    if (!wrong.empty()) return wrong;
    plans.emplace_back(std::move(schedules[r]));
  }
  Verifier verifier(problems, plans);
  std::string stuck = walk(plans, verifier, seed);
  if (!stuck.empty()) return stuck;
  verifier.check_outputs();
  return verifier.wrong();
}

std::string verify(const Algorithm& algorithm, const Problem& problem, std::uint32_t seed) {
  std::vector<Schedule> schedules;
  for (Rank rank = 0; rank < problem.size; ++rank) schedules.push_back(build(algorithm, problem, rank));
  return verify(std::vector<Problem>(static_cast<std::size_t>(problem.size), problem), std::move(schedules), seed);
}

}  // namespace godwit::collectives
