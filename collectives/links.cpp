#include "collectives/links.hpp"

namespace godwit::collectives {

LinkModel link_in_node(double crowding) noexcept {
  return {.latency_s = crowding > 1 ? 5e-6 : 0.6e-6, .overhead_s = 0.2e-6, .bandwidth_Bps = 8e9, .crowding = crowding};
}

LinkModel link_between_nodes(double crowding) noexcept {
  LinkModel link = link_in_node(crowding);
  link.latency_s += 1.5e-6;
  link.bandwidth_Bps = 12e9;
  return link;
}

}  // namespace godwit::collectives
