// GODWIT_IB_HCA: which adapters and ports may be used. Pure. Threads: any.
//
// "mlx5_0,mlx5_2:1": exactly these (a port after the colon); "^" in front: all but these; "*", "?" and "[]" as in a
// shell. mlx5_1 is not mlx5_10, but mlx5_1* is both.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbs/facts.hpp"

namespace godwit::verbs {

class HcaFilter {
 public:
  /// Empty: everything. `origin` names the variable in errors. Throws Error(invalid_argument) for a malformed text.
  HcaFilter(std::string_view text, std::string_view origin);

  bool allows(std::string_view device, unsigned port) const;
  /// Throws Error(invalid_argument), which lists what there is, if there are ports and none of them is allowed.
  /// Returns what to warn of: names that no port has.
  std::vector<std::string> check(std::span<const DeviceFacts> devices) const;

 private:
  struct Item {
    std::string text, pattern;
    unsigned port = 0;  // 0: any
    bool matches(std::string_view device, unsigned number) const;
  };

  std::string text_, origin_;
  bool exclude_ = false;
  std::vector<Item> items_;
};

/// NCCL's value in our words: its names are prefixes unless "=" is in front. "mlx5_1:1,mlx4" -> "mlx5_1*:1,mlx4*",
/// "^=mlx5_1" -> "^mlx5_1".
std::string hca_from_nccl(const std::string& value);

}  // namespace godwit::verbs
