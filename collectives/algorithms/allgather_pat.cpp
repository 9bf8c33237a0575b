// PAT allgather: each block goes down a binomial tree of its own, far hops first, blocks of several trees in one
// message. Jeaugey, arXiv:2506.20252 (2025); see pat.hpp.
// Cost: ceil(log2 n) rounds if n blocks fit into a chunk, else as many fewer as blocks fit into one, and one for each
// distance within a subtree; n - 1 blocks sent, at most twice as many copied.
#include "collectives/algorithm.hpp"
#include "collectives/pat.hpp"

#include <bit>

namespace godwit::collectives {
namespace {

class PatAllgather {
 public:
  explicit PatAllgather(ScheduleBuilder& b) : b_(b), pat_(b.problem()), out_(b, room()), in_(b, room()) {}

  void build() {
    b_.copy(b_.input(), b_.output(b_.blocks(b_.rank())), b_.count());
    for (int bit = static_cast<int>(std::bit_ceil(static_cast<unsigned>(pat_.roots))) / 2; bit >= 1; bit /= 2) {
      std::vector<int> children = pat_.children_at(bit), parents;
      for (int& trunk : children) {
        parents.push_back((trunk - bit) * pat_.height);
        trunk *= pat_.height;
      }
      pass_on(bit * pat_.height, parents, children);
    }
    for (int low = 1; low < pat_.height; ++low) {
      const int hop = low & -low;
      std::vector<int> children, parents;
      for (int trunk = 0; trunk < pat_.reaching(low); ++trunk) {
        parents.push_back(trunk * pat_.height + low - hop);
        children.push_back(trunk * pat_.height + low);
      }
      pass_on(hop, parents, children);
    }
  }

 private:
  std::uint64_t room() const { return pat_.trunks == 1 ? 0 : b_.blocks(pat_.roots); }

  Place block_below(int distance) const {
    return distance == 0 ? b_.input() : b_.output(b_.blocks(pat_.below(b_.rank(), distance)));
  }

  /// Blocks at the distances `parents` go to the rank `hop` above, where they are at `children`.
  void pass_on(int hop, const std::vector<int>& parents, const std::vector<int>& children) {
    if (parents.empty()) return;
    const Rank to = pat_.above(b_.rank(), hop), from = pat_.below(b_.rank(), hop);
    if (parents.size() == 1) {
      b_.send_chunks(to, block_below(parents[0]), b_.count());
      b_.recv_chunks(from, block_below(children[0]), b_.count());
      return;
    }
    const Place out = out_.next(), in = in_.next();
    const int n = static_cast<int>(parents.size());
    for (int i = 0; i < n; ++i)
      b_.copy(block_below(parents[static_cast<std::size_t>(i)]), out + b_.blocks(i), b_.count());
    b_.send(to, out, b_.blocks(n));
    b_.recv(from, in, b_.blocks(n));
    for (int i = 0; i < n; ++i)
      b_.copy(in + b_.blocks(i), block_below(children[static_cast<std::size_t>(i)]), b_.count());
  }

  ScheduleBuilder& b_;
  Pat pat_;
  Turns out_, in_;
};

void build_pat(ScheduleBuilder& b) { PatAllgather(b).build(); }

Cost cost_pat(const Problem& problem) noexcept {
  Cost cost = Pat(problem).cost(problem);
  cost.copied *= 2;
  return cost;
}

}  // namespace

extern const Algorithm allgather_pat{"pat", "", Collective::allgather, always, cost_pat, build_pat, true};

}  // namespace godwit::collectives
