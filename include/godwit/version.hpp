#pragma once

#include <string_view>

namespace godwit {
/// "0.1.0", from CMake's project version.
std::string_view version() noexcept;
}  // namespace godwit
