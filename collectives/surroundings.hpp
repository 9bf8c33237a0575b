// Where the ranks of a communicator run: what the selector's prices depend on.
#pragma once

#include "collectives/problem.hpp"
#include "core/card.hpp"

#include <functional>
#include <memory>
#include <vector>

namespace godwit::collectives {

struct Surroundings {
  NodeShape shape{};
  double crowding = 1;                              // ranks per CPU where it is worst, at least 1
  std::unique_ptr<const std::vector<int>> node_of;  // what shape.node_of points to, if anything
};

/// From the cards of the first 64 members and the last one (card(i) is member i's), so that all ranks get the same
/// result and a large communicator does not read all cards; the rest is taken to be like them: further full nodes, or
/// further rounds where ranks are dealt out to the nodes by turns.
Surroundings look_around(int size, const std::function<const core::Card&(Rank)>& card);

}  // namespace godwit::collectives
