// PAT reduce-scatter: the sum of each block comes up a binomial tree of its own, near hops first, partial blocks of
// several trees in one message, in an order in which few of them wait. Jeaugey, arXiv:2506.20252 (2025); see pat.hpp.
// Association of a block: each rank op its children in the block's tree, nearest first; ranks modulo n.
// Cost: ceil(log2 n) rounds if n blocks fit into a chunk, else as many fewer as blocks fit into one, and one for each
// distance within a subtree; n - 1 blocks sent and reduced, at most as many copied into messages. A rank holds about a
// chunk times log2 n, or log2 n blocks if those are longer.
#include "collectives/algorithm.hpp"
#include "collectives/pat.hpp"

#include <bit>

namespace godwit::collectives {
namespace {

class PatReduceScatter {
 public:
  explicit PatReduceScatter(ScheduleBuilder& b) : b_(b), pat_(b.problem()), out_(b, room()), in_(b, room()) {
    for (int level = 0; level < pat_.levels; ++level) partial_.push_back(row());
    roots_ = row();
  }

  void build() {
    for (int low = pat_.height - 1; low >= 1; --low) {
      const int hop = low & -low;
      std::vector<int> children, parents;
      for (int trunk = 0; trunk < pat_.reaching(low); ++trunk) {
        children.push_back(trunk * pat_.height + low);
        parents.push_back(trunk * pat_.height + low - hop);
      }
      hand_up(hop, children, parents);
    }
    for (int bit = 1; bit < pat_.roots; bit *= 2) {
      std::vector<int> children = pat_.children_at(bit), parents;
      for (int& trunk : children) {
        parents.push_back((trunk - bit) * pat_.height);
        trunk *= pat_.height;
      }
      hand_up(bit * pat_.height, children, parents);
    }
    b_.copy(value(0), b_.output(), b_.count());  // a single rank has not reduced anything
    b_.finish(b_.output(), b_.count());
  }

 private:
  /// Partial sums of one distance within each trunk.
  struct Row {
    Place place;
    std::vector<char> begun;  // by trunk: something has been added
  };

  std::uint64_t room() const { return pat_.trunks == 1 ? 0 : b_.blocks(pat_.roots); }
  Row row() { return {b_.scratch(b_.blocks(pat_.roots)), std::vector<char>(static_cast<std::size_t>(pat_.roots), 0)}; }

  /// Distances with the same lowest bit follow each other in memory; the roots come last.
  Row& row_of(int distance) {
    const int low = distance % pat_.height;
    return low == 0 ? roots_ : partial_[static_cast<std::size_t>(std::countr_zero(static_cast<unsigned>(low)))];
  }
  char& begun(int distance) { return row_of(distance).begun[static_cast<std::size_t>(distance / pat_.height)]; }
  /// Where the sum of the block at `distance` below this rank grows.
  Place sum(int distance) {
    return distance == 0 ? b_.output() : row_of(distance).place + b_.blocks(distance / pat_.height);
  }
  Place value(int distance) {
    return begun(distance) != 0 ? sum(distance) : b_.input(b_.blocks(pat_.below(b_.rank(), distance)));
  }

  /// Sums at the distances `children` go to the rank `hop` below, where they are added to those at `parents`.
  void hand_up(int hop, const std::vector<int>& children, const std::vector<int>& parents) {
    if (children.empty()) return;
    const Rank to = pat_.below(b_.rank(), hop), from = pat_.above(b_.rank(), hop);
    if (children.size() == 1) {
      b_.send_chunks(to, value(children[0]), b_.count());
      begun(children[0]) = 0;
      b_.recv_reduce(from, value(parents[0]), sum(parents[0]), b_.count(), Order::mine_first);
      begun(parents[0]) = 1;
      return;
    }
    const Place out = out_.next(), in = in_.next();
    int at = 0;
    for (const int child : children) {
      b_.copy(value(child), out + b_.blocks(at++), b_.count());
      begun(child) = 0;
    }
    b_.send(to, out, b_.blocks(at));
    b_.recv(from, in, b_.blocks(at));
    at = 0;
    for (const int parent : parents) {
      b_.reduce(value(parent), in + b_.blocks(at++), sum(parent), b_.count());
      begun(parent) = 1;
    }
  }

  ScheduleBuilder& b_;
  Pat pat_;
  Turns out_, in_;
  std::vector<Row> partial_;  // by level: the lowest bit of the distance
  Row roots_;
};

void build_pat(ScheduleBuilder& b) { PatReduceScatter(b).build(); }

Cost cost_pat(const Problem& problem) noexcept {
  Cost cost = Pat(problem).cost(problem);
  cost.reduced = cost.bytes;
  return cost;
}

}  // namespace

extern const Algorithm reduce_scatter_pat{"pat",     "",  Collective::reduce_scatter, if_commutative, cost_pat,
                                          build_pat, true};

}  // namespace godwit::collectives
