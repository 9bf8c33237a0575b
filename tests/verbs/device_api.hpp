// Adapters that can only be looked at: what discover() calls, from tables, with errors on demand. For whole adapters
// there is tests/fake_verbs.
#pragma once

#include "fake_verbs/refusing_api.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace godwit::verbs {

struct FakeDevice : ibv_device {
  explicit FakeDevice(const std::string& called, ibv_transport_type speaks = IBV_TRANSPORT_IB) : ibv_device{} {
    std::strncpy(name, called.c_str(), sizeof name - 1);
    transport_type = speaks;
    attributes.phys_port_cnt = 1;
  }
  ibv_device_attr attributes{};
  std::vector<ibv_port_attr> ports{1};
  std::vector<ibv_gid_entry> gids;
  std::vector<std::uint16_t> pkeys;  // network order
  std::map<std::string, std::string> sysfs;
  int open_error = 0, device_error = 0, port_error = 0, gid_error = 0;
};

class DeviceApi final : public RefusingApi {
 public:
  std::vector<FakeDevice> devices;
  std::vector<NetInterface> interfaces;
  int list_error = 0;
  int opened = 0, lists = 0;  // still

  ibv_device** get_device_list(int* count) noexcept override {
    errno = list_error;
    if (list_error != 0) return nullptr;
    ++lists;
    pointers_.clear();
    for (FakeDevice& device : devices) pointers_.push_back(&device);
    *count = static_cast<int>(pointers_.size());
    pointers_.push_back(nullptr);
    return pointers_.data();
  }
  void free_device_list(ibv_device** /*list*/) noexcept override { --lists; }
  const char* get_device_name(ibv_device* device) noexcept override { return device->name; }
  ibv_context* open_device(ibv_device* device) noexcept override {
    errno = of(device).open_error;
    if (errno != 0) return nullptr;
    ++opened;
    auto* context = new ibv_context{};
    context->device = device;
    return context;
  }
  int close_device(ibv_context* context) noexcept override {
    --opened;
    delete context;
    return 0;
  }
  int query_device(ibv_context* context, ibv_device_attr* attributes) noexcept override {
    *attributes = of(context->device).attributes;
    return of(context->device).device_error;
  }
  int query_port(ibv_context* context, std::uint8_t port, ibv_port_attr* attributes) noexcept override {
    const FakeDevice& device = of(context->device);
    if (device.port_error == port || port > device.ports.size()) return EIO;
    *attributes = device.ports[port - 1];
    return 0;
  }
  ssize_t query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t most) noexcept override {
    const FakeDevice& device = of(context->device);
    if (device.gid_error != 0) return -device.gid_error;
    const std::size_t count = std::min(most, device.gids.size());
    std::copy_n(device.gids.begin(), count, entries);
    return static_cast<ssize_t>(count);
  }
  int query_pkey(ibv_context* context, std::uint8_t /*port*/, int index, std::uint16_t* key) noexcept override {
    const auto& pkeys = of(context->device).pkeys;
    if (static_cast<std::size_t>(index) >= pkeys.size()) return EINVAL;
    *key = pkeys[static_cast<std::size_t>(index)];
    return 0;
  }
  std::string read_attribute(ibv_device* device, const char* path) noexcept override {
    const auto found = of(device).sysfs.find(path);
    return found == of(device).sysfs.end() ? "" : found->second;
  }
  std::vector<NetInterface> net_interfaces() noexcept override { return interfaces; }

 private:
  static FakeDevice& of(ibv_device* device) { return static_cast<FakeDevice&>(*device); }
  std::vector<ibv_device*> pointers_;
};

}  // namespace godwit::verbs
