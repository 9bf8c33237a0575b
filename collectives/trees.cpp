#include "collectives/trees.hpp"

#include "collectives/phases.hpp"

#include <boost/range/adaptor/reversed.hpp>

#include <algorithm>
#include <bit>

namespace godwit::collectives {

namespace {

constexpr std::uint64_t smallest_piece = 8 * 1024;  // bytes

Rank from_root(const Team& team, int root, int relative) noexcept { return team[(root + relative) % team.size()]; }

int to_root(const Team& team, int root) noexcept { return (team.me - root + team.size()) % team.size(); }

/// Calls visit(offset, count); once with (0, 0) when there is nothing.
template <class F>
void cut(std::uint64_t count, std::uint64_t chunk, F&& visit) {
  std::uint64_t offset = 0;
  do {
    visit(offset, std::min(chunk, count - offset));
    offset += chunk;
  } while (offset < count);
}

/// The binary tree in which 1..last are in order: x has the numbers below it within its power of two on its left, and
/// those above on its right. Inner nodes are even.
struct Ordered {
  int parent = 0;             // 0: the root
  std::vector<int> children;  // at most 2
};

Ordered ordered_node(int x, int last) {
  Ordered node;
  const int power = x & -x;
  for (int up = x, step = power; step <= last; step *= 2) {
    up = (up & (2 * step)) != 0 ? up - step : up + step;
    if (up > last) continue;
    node.parent = up;
    break;
  }
  if (power > 1) node.children.push_back(x - power / 2);
  if (const int above = std::min(power - 1, last - x); above > 0)
    node.children.push_back(x + power_of_two_below(above));
  return node;
}

}  // namespace

TreeNode knomial_node(const Team& team, int root, int radix) {
  TreeNode node;
  const int n = team.size(), me = to_root(team, root);
  for (int step = 1; step < n; step *= radix) {
    if (const int digit = me / step % radix; digit != 0) {
      node.parent = from_root(team, root, me - digit * step);
      break;
    }
    for (int child = 1; child < radix && me + child * step < n; ++child)
      node.children.push_back(from_root(team, root, me + child * step));
  }
  return node;
}

TreeNode kary_node(const Team& team, int root, int arity) {
  TreeNode node;
  const int me = to_root(team, root);
  if (me > 0) node.parent = from_root(team, root, (me - 1) / arity);
  for (int child = arity * me + 1; child <= arity * me + arity && child < team.size(); ++child)
    node.children.push_back(from_root(team, root, child));
  return node;
}

TreeNode chain_node(const Team& team, int root) { return kary_node(team, root, 1); }

int log_ceil(int size, int radix) noexcept {
  int rounds = 0;
  for (std::int64_t reached = 1; reached < size; reached *= radix) ++rounds;
  return rounds;
}

int most_children(int size, int radix) noexcept {
  int children = 0;
  for (std::int64_t step = 1; step < size; step *= radix)
    children += static_cast<int>(std::min<std::int64_t>(radix - 1, (size - 1) / step));
  return children;
}

int kary_depth(int size, int arity) noexcept {
  int depth = 0;
  for (int last = size - 1; last > 0; last = (last - 1) / arity) ++depth;
  return depth;
}

TreeNode two_level_node(const ScheduleBuilder& b, Rank root) {
  const Nodes nodes(b);
  TreeNode node = knomial_node(nodes.node(), nodes.local_root(root), 2);
  const Team leaders = nodes.leaders(root);
  if (!leaders.has_me()) return node;
  const TreeNode between = knomial_node(leaders, nodes.node_of(root), 2);
  node.parent = between.parent;
  node.children.insert(node.children.end(), between.children.begin(), between.children.end());
  return node;
}

void tree_broadcast(ScheduleBuilder& b, const TreeNode& node, Place place, std::uint64_t count, std::uint64_t chunk) {
  cut(count, chunk, [&](std::uint64_t offset, std::uint64_t n) {
    if (node.parent >= 0) b.recv(node.parent, place + offset, n);
    for (const Rank child : node.children | boost::adaptors::reversed) b.send(child, place + offset, n);
  });
}

void tree_reduce(ScheduleBuilder& b, const TreeNode& node, Place source, Place accumulator, std::uint64_t count,
                 std::uint64_t chunk) {
  cut(count, chunk, [&](std::uint64_t offset, std::uint64_t n) {
    Place current = source;
    for (const Rank child : node.children) {
      b.recv_reduce(child, current + offset, accumulator + offset, n, Order::mine_first);
      current = accumulator;
    }
    if (node.parent >= 0)
      b.send(node.parent, current + offset, n);
    else
      b.copy(current + offset, accumulator + offset, n);  // nothing, unless this is the only rank
  });
}

DoubleTree::DoubleTree(const ScheduleBuilder& b, Rank root) : chunk_(chunk(b.problem())) {
  const int last = b.size() - 1, me = relative(b, root);
  const auto mirrored = [last](int x) { return last % 2 == 0 ? last + 1 - x : x == 1 ? last : x - 1; };
  const auto back = [last](int x) { return last % 2 == 0 ? last + 1 - x : x == last ? 1 : x + 1; };
  for (int tree = 0; tree < 2; ++tree) {
    TreeNode& node = trees_[static_cast<std::size_t>(tree)];
    const auto rank_of = [&](int x) { return absolute(b, tree == 0 ? x : back(x), root); };
    if (me == 0) {
      if (last > 0) node.children.push_back(rank_of(power_of_two_below(last)));
      continue;
    }
    const Ordered place = ordered_node(tree == 0 ? me : mirrored(me), last);
    node.parent = place.parent == 0 ? root : rank_of(place.parent);
    for (const int child : place.children) node.children.push_back(rank_of(child));
  }
  halves_ = {part(b.count(), 2, 0), part(b.count(), 2, 1)};
  pieces_ = static_cast<int>(std::max<std::uint64_t>(1, (halves_[0].size() + chunk_ - 1) / chunk_));
}

bool DoubleTree::piece(int number, int tree, Piece& piece) const noexcept {
  const Range half = halves_[static_cast<std::size_t>(tree)];
  const std::uint64_t begin = half.begin + static_cast<std::uint64_t>(number) * chunk_;
  if (begin >= half.end && number != 0) return false;
  piece = {&trees_[static_cast<std::size_t>(tree)], {begin, std::min(half.end, begin + chunk_)}};
  return true;
}

void DoubleTree::reduce(ScheduleBuilder& b, const Piece& piece, Place accumulator) const {
  const std::uint64_t count = piece.elements.size();
  Place current = b.input(piece.elements.begin);
  for (const Rank child : piece.node->children) {
    b.recv_reduce(child, current, accumulator, count, Order::mine_first);
    current = accumulator;
  }
  if (piece.node->parent >= 0)
    b.send(piece.node->parent, current, count);
  else
    b.copy(current, accumulator, count);  // nothing, unless this is the only rank
}

void DoubleTree::broadcast(ScheduleBuilder& b, const Piece& piece, Place place) const {
  tree_broadcast(b, *piece.node, place, piece.elements.size(), std::max<std::uint64_t>(1, piece.elements.size()));
}

int DoubleTree::depth(int size) noexcept { return static_cast<int>(std::bit_width(static_cast<unsigned>(size - 1))); }

Cost DoubleTree::cost_one_way(const Problem& problem) noexcept {
  if (problem.size == 1) return {};
  const Terms t(problem);
  const std::uint64_t size = chunk(problem), half = (problem.count + 1) / 2;
  const double pieces = std::max(1.0, static_cast<double>((half + size - 1) / size)), hops = depth(problem.size);
  return {.rounds = hops, .bytes = t.bytes + (hops - 1) * t.bytes / pieces, .messages = 2 * t.share * pieces};
}

std::uint64_t DoubleTree::chunk(const Problem& problem) noexcept {
  const std::uint64_t smallest = std::max<std::uint64_t>(1, smallest_piece / problem.element_size());
  const auto hops = static_cast<std::uint64_t>(std::max(1, depth(problem.size)));
  const std::uint64_t half = std::max<std::uint64_t>(1, (problem.count + 1) / 2);
  return std::min({problem.chunk(), half, std::max(smallest, (half + hops - 1) / hops)});
}

}  // namespace godwit::collectives
