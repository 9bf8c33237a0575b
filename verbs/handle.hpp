// Objects of libibverbs that destroy themselves. Threads: as the object.
#pragma once

#include "verbs/api.hpp"

#include <utility>

namespace godwit::verbs {

template <class T, int (Api::*destroy)(T*) noexcept>
class Handle {
 public:
  Handle() noexcept = default;
  /// Takes `object`, which may be nullptr.
  Handle(Api& api, T* object) noexcept : api_(&api), object_(object) {}
  Handle(Handle&& other) noexcept : api_(other.api_), object_(std::exchange(other.object_, nullptr)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(api_, other.api_);
    std::swap(object_, other.object_);
    return *this;
  }
  ~Handle() { reset(); }

  T* get() const noexcept { return object_; }
  T* operator->() const noexcept { return object_; }
  explicit operator bool() const noexcept { return object_ != nullptr; }
  void reset() noexcept {
    if (object_ != nullptr) (api_->*destroy)(std::exchange(object_, nullptr));
  }

 private:
  Api* api_ = nullptr;
  T* object_ = nullptr;
};

using ContextHandle = Handle<ibv_context, &Api::close_device>;
using DomainHandle = Handle<ibv_pd, &Api::dealloc_pd>;
using ChannelHandle = Handle<ibv_comp_channel, &Api::destroy_comp_channel>;
using CompletionQueueHandle = Handle<ibv_cq, &Api::destroy_cq>;
using SharedReceiveHandle = Handle<ibv_srq, &Api::destroy_srq>;
using PairHandle = Handle<ibv_qp, &Api::destroy_qp>;
using RegionHandle = Handle<ibv_mr, &Api::dereg_mr>;

}  // namespace godwit::verbs
