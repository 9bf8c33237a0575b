// A rank that is sent garbage, the rank that sends it, and one that looks on.
#pragma once

#include "scenario.hpp"

namespace godwit::engine_test {

// Rank 0 is the victim, rank 1 the rogue, rank 2 a bystander.
struct Stage {
  Stage() : cluster({.ranks = 3, .without_worker = {1}}), rogue(cluster, 1, 0) { cluster.settle(); }
  core::Worker& victim() { return cluster.worker(0); }
  bool given_up() { return victim().has_failed(1); }
  // The victim still works with others.
  void expect_contained() {
    Pending in = cluster.recv(2, 0, 50'000, 5);
    const Pending out = cluster.send(0, 2, pattern(50'000, 1), 5);
    cluster.settle();
    ASSERT_TRUE(in.done() && out.done());
    EXPECT_EQ(in.status(), ErrorCode::ok);
    EXPECT_TRUE(in.buffer() == pattern(50'000, 1));
  }
  Cluster cluster;
  Rogue rogue;
};

}  // namespace godwit::engine_test
