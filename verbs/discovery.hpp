// Asks libibverbs what adapters there are. Threads: any; opens each device for a moment, so not for the hot path.
#pragma once

#include <vector>

#include "verbs/api.hpp"
#include "verbs/facts.hpp"

namespace godwit::core {
class Log;
}

namespace godwit::verbs {

/// In the order of their names (mlx5_2 before mlx5_10). A device that cannot be opened or asked is named in the log
/// and left out, as is one without reliable connections (usNIC, EFA); so is a port that cannot be asked.
std::vector<DeviceFacts> discover(Api& api, core::Log& log);

/// "mlx5_2" is before "mlx5_10".
bool name_is_before(std::string_view left, std::string_view right) noexcept;

}  // namespace godwit::verbs
