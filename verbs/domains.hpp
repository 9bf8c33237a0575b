// The protection domains of all rails: memory is registered with every one of them, so that any rail can move it.
// Threads: one at a time.
#pragma once

#include "verbs/api.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace godwit::verbs {

/// Ports of one host that are in use at a time.
inline constexpr unsigned most_rails_in_use = 2;

/// An errno value that an adapter which has failed or was removed returns.
bool is_gone(int error) noexcept;

/// The keys of the same memory, one for each rail.
struct Keys {
  std::uint64_t value = 0;

  static constexpr unsigned shift_of(unsigned rail) noexcept { return 32 * rail; }
  std::uint32_t after(unsigned shift) const noexcept { return static_cast<std::uint32_t>(value >> shift); }
  std::uint32_t on(unsigned rail) const noexcept { return after(shift_of(rail)); }
  void set(unsigned rail, std::uint32_t key) noexcept { value |= std::uint64_t{key} << shift_of(rail); }
  friend bool operator==(Keys, Keys) = default;
};
static_assert(most_rails_in_use * 32 <= 64);

/// One piece of memory, registered.
struct Pinned {
  std::array<ibv_mr*, most_rails_in_use> handles{};
  Keys lkey, rkey;  // 0 on a rail whose adapter is gone

  explicit operator bool() const noexcept { return handles != decltype(handles){}; }
};

struct DmaBuf {
  int fd = -1;
  std::uint64_t offset = 0, iova = 0;
};

class Domains {
 public:
  /// By rail.
  Domains(Api& api, std::vector<ibv_pd*> domains) : api_(&api), domains_(std::move(domains)) {}

  /// With all rails or, where an errno value is returned, with none. An adapter that is gone is left out from then on,
  /// as long as there is another one.
  int pin(std::span<std::byte> memory, int access, Pinned& pinned) noexcept;
  int pin(const DmaBuf& buffer, std::size_t bytes, int access, Pinned& pinned) noexcept;
  /// 0, or an errno value: then some of it stays registered.
  int unpin(Pinned& pinned) noexcept;
  /// "mlx5_0", or "mlx5_0 and mlx5_1".
  std::string names() const;
  Api& api() const noexcept { return *api_; }

 private:
  template <class Register>
  int pin_with(Register&& pin_one, Pinned& pinned) noexcept;

  Api* api_;
  std::vector<ibv_pd*> domains_;  // nullptr: the adapter is gone
};

}  // namespace godwit::verbs
