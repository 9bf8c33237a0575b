// Cost: what an algorithm needs, as counts; LinkModel: what those cost on a wire. Pure.
#pragma once

#include "collectives/problem.hpp"

#include <string>

namespace godwit::collectives {

/// Rates of the slowest link that a collective crosses, the same on all ranks of a communicator.
struct LinkModel {
  double latency_s = 1e-6;      // a small message, from the call to the receiver's completion
  double overhead_s = 0.25e-6;  // CPU time of sending and receiving one message
  double bandwidth_Bps = 8e9;   // of large messages, one direction
  double reduce_Bps = 10e9;     // bytes of the result per second
  double copy_Bps = 12e9;
  double crowding = 1;  // ranks per CPU they may use; above 1 they take turns
};

/// One rank's share on the critical path; `messages` is the mean over ranks. Bytes, not elements.
struct Cost {
  double rounds = 0;    // message latencies one after the other
  double bytes = 0;     // sent (or received) one after the other
  double messages = 0;  // sent by a rank
  double reduced = 0;
  double copied = 0;
  double near_rounds = 0;  // of `rounds`: between ranks of one node
  double near_bytes = 0;   // of `bytes`
  double sharing = 1;      // ranks of a node that send to others at the same time, through its one adapter
};

/// Predicted time: rounds * latency + (messages * overhead + bytes / bandwidth + ...) * crowding.
double seconds(const Cost& cost, const LinkModel& link) noexcept;
/// On several nodes: what stays in a node is priced by `near`, the rest by `far`.
double seconds(const Cost& cost, const LinkModel& near, const LinkModel& far) noexcept;
/// "2 rounds, 64K sent, 32K reduced".
std::string to_string(const Cost& cost);

/// The quantities that cost formulas are made of: n ranks, `bytes` of the longest buffer, `block` = bytes / n,
/// `rounds` = ceil(log2 n); `power` = largest power of two not above n, `halvings` its logarithm, `fold` = 1 if n is
/// larger, `others` = n - 1, `share` = (n - 1) / n.
struct Terms {
  explicit Terms(const Problem& problem) noexcept;
  double n, bytes, block, rounds, power, halvings, fold, others, share;
};

/// For algorithms in which all ranks talk to ranks at all distances: on several nodes, the ranks of each share its
/// adapter, and the rounds of short distances stay inside.
Cost at_all_distances(const Problem& problem, Cost cost) noexcept;

/// Of a vector that goes from rank to rank in pieces.
Cost cost_of_chain(const Problem& problem) noexcept;
/// The same with a reduction on the way.
Cost cost_of_reducing_chain(const Problem& problem) noexcept;

/// Messages that `bytes` become when cut into chunks (at least 1).
double pieces(const Problem& problem, double bytes) noexcept;

}  // namespace godwit::collectives
