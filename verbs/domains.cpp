#include "verbs/domains.hpp"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

namespace godwit::verbs {

bool is_gone(int error) noexcept { return error == EIO || error == ENODEV; }

template <class Register>
int Domains::pin_with(Register&& pin_one, Pinned& pinned) noexcept {
  int error = 0;
  for (unsigned rail = 0; rail < domains_.size(); ++rail) {
    if (domains_[rail] == nullptr) continue;
    errno = 0;
    if (ibv_mr* handle = pin_one(domains_[rail])) {
      pinned.handles[rail] = handle;
      pinned.lkey.set(rail, handle->lkey);
      pinned.rkey.set(rail, handle->rkey);
      continue;
    }
    error = errno;
    const auto rest = std::ranges::count_if(domains_, [](const ibv_pd* domain) { return domain != nullptr; });
    if (is_gone(error) && rest > 1) {
      domains_[rail] = nullptr;
      error = 0;
      continue;
    }
    unpin(pinned);  // of what was registered a moment ago
    pinned = {};
    return error;
  }
  return error;
}

int Domains::pin(std::span<std::byte> memory, int access, Pinned& pinned) noexcept {
  return pin_with([&](ibv_pd* domain) { return api_->reg_mr(domain, memory.data(), memory.size(), access); }, pinned);
}

int Domains::pin(const DmaBuf& buffer, std::size_t bytes, int access, Pinned& pinned) noexcept {
  return pin_with(
      [&](ibv_pd* domain) { return api_->reg_dmabuf_mr(domain, buffer.offset, bytes, buffer.iova, buffer.fd, access); },
      pinned);
}

int Domains::unpin(Pinned& pinned) noexcept {
  int error = 0;
  for (ibv_mr*& handle : pinned.handles)
    if (handle != nullptr)
      if (const int one = api_->dereg_mr(std::exchange(handle, nullptr)); error == 0) error = one;
  return error;
}

std::string Domains::names() const {
  std::string names;
  for (const ibv_pd* domain : domains_)
    if (domain != nullptr)
      names += (names.empty() ? "" : " and ") + std::string(api_->get_device_name(domain->context->device));
  return names;
}

}  // namespace godwit::verbs
