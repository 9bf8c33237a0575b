// Tuning: which algorithm `godwit tune` has measured to be the fastest, by communicator shape, collective and size.
// A value; pure but for load().
#pragma once

#include "collectives/algorithm.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace godwit::collectives {

/// Up to `bytes` of a rank's longest buffer, from the range before on.
struct TunedRange {
  Collective collective = Collective::barrier;
  std::uint64_t bytes = 0;
  const Algorithm* algorithm = nullptr;
  double microseconds = 0;  // measured at `bytes`
};

struct TunedShape {
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  std::vector<TunedRange> ranges;  // in a table: by collective and size
};

class Tuning {
 public:
  /// Throws Error(invalid_argument) that names `origin`, what is wrong, and the known words.
  static Tuning parse(std::string_view text, const std::string& origin);
  /// Of a file; as parse(), and when it cannot be read.
  static Tuning load(const std::string& path);
  /// In the place of what was known of that shape.
  void set(TunedShape shape);
  std::string text() const;

  /// nullptr: nothing was measured for it. Sizes above the last range are like that.
  const Algorithm* find(const Problem& problem) const noexcept;
  /// Equal for equal tables; 0 only for an empty one.
  std::uint64_t hash() const;

 private:
  std::vector<TunedShape> shapes_;
};

}  // namespace godwit::collectives
