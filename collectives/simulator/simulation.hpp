// Simulation: a discrete-event run of the plans of all ranks on a cluster. The plans are those that the executor runs,
// and the steps start when its Frontier says so. Pure; one thread.
//
// What a step costs:
//   send, recv     each end's processor for the path's overhead (and, where processors copy, see Mover); then the bytes
//   share the path's resources (sharing.hpp);
//                  the last byte arrives `latency` after it left. The send is complete when the last byte has left, the
//                  receive when the receiver's processor has dealt with it. Messages between two ranks go one after the
//                  other, as on one connection. Up to `eager_bytes` a message does not wait for its receive; longer
//                  ones wait for it, and for the handshake.
//   reduce, scale  the rank's processor for bytes of the result / reduce_Bps
//   copy           the rank's processor for bytes / copy_Bps
// A processor does its work in the order in which it came up.
#pragma once

#include "collectives/plan.hpp"
#include "collectives/simulator/network.hpp"
#include "collectives/simulator/symmetry.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace godwit::collectives::simulator {

/// Something that takes time. Activities begin when another one ends: `cause`, which is what they waited for last.
struct Activity {
  static constexpr std::uint32_t none = UINT32_MAX;
  enum class Kind : std::uint8_t { overhead, transfer, latency, handshake, reduce, copy };
  Kind kind = Kind::overhead;
  Rank rank = 0;  // seat of the one that works, or that sends
  Rank peer = -1;
  std::uint64_t bytes = 0;
  double begin_s = 0, end_s = 0;
  std::uint32_t cause = none;
};

struct Outcome {
  double seconds = 0;                   // until the last rank is done
  double first_s = 0;                   // until the first one is
  std::vector<double> used;             // by resource: units, e.g. bytes through a port
  std::vector<Activity> activities;     // if wanted
  std::uint32_t last = Activity::none;  // that the end waited for
  std::uint64_t messages = 0;
};

/// plans[seat] is that of rank `seat`, for all seats of the symmetry's period, which is the network's. Throws
/// Error(internal) when the plans do not fit together.
Outcome simulate(std::span<const Plan> plans, const Network& network, const Symmetry& symmetry,
                 std::uint64_t element_size, bool with_activities = false);

}  // namespace godwit::collectives::simulator
