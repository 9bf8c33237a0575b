// Which protocol serves which sizes, in one line. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::apps {

struct ProtocolSwitch {
  std::string protocol;
  std::size_t upto = 0;  // bytes; SIZE_MAX: no limit
};

/// "send: eager up to 8192, rendezvous above". `other` applies to memory of the target that the transport cannot reach
/// by itself, and is shown if it differs.
std::string switches_text(std::string_view operation, const std::vector<ProtocolSwitch>& reachable,
                          const std::vector<ProtocolSwitch>& other);

}  // namespace godwit::apps
