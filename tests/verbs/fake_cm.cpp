#include "fake_cm.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace godwit::verbs {

namespace {

constexpr std::size_t private_bytes = 56;  // InfiniBand and RoCE pad to this
constexpr int nobody_listens = 8;
constexpr int refused = 28;

int failed(int error) noexcept {
  errno = error;
  return -1;
}

}  // namespace

// What a queue pair needs to know of the other one.
struct FakeEnd {
  Gid ip{};
  std::uint32_t pair = 0;
  std::uint32_t packet = 0;
};

struct FakeEvent : rdma_cm_event {
  std::vector<std::byte> data;
};

struct FakeChannel : rdma_event_channel {
  std::deque<std::unique_ptr<FakeEvent>> events;
};

struct FakeId : rdma_cm_id {
  FakeChannel* queue = nullptr;
  std::string device_port;
  std::uint8_t gid_index = 0;
  FakeEnd here, there;
  std::uint16_t tcp_port = 0;  // listening at, or to be connected to
  FakeId* other = nullptr;
  bool established = false;
};

static FakeId& of(rdma_cm_id* id) noexcept { return static_cast<FakeId&>(*id); }

class FakeCm final : public CmApi {
 public:
  FakeCm(CmNetwork& network, std::string port, const Gid& ip, std::uint8_t gid_index)
      : network_(network), port_(std::move(port)), ip_(ip), gid_index_(gid_index) {}

  rdma_event_channel* create_event_channel() noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    int error = 0;
    FakeId none{};
    if (network_.fails(CmNetwork::Step::channel, none, error)) {
      errno = error;
      return nullptr;
    }
    auto made = std::make_unique<FakeChannel>();
    made->fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return made.release();
  }
  void destroy_event_channel(rdma_event_channel* channel) noexcept override {
    const std::unique_ptr<FakeChannel> gone(static_cast<FakeChannel*>(channel));
    ::close(gone->fd);
  }
  int create_id(rdma_event_channel* channel, rdma_cm_id** id) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    *id = &network_.make(*static_cast<FakeChannel*>(channel), port_, ip_, gid_index_);
    return 0;
  }
  int destroy_id(rdma_cm_id* id) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    FakeId& gone = of(id);
    network_.part(gone);
    std::erase_if(network_.listeners_, [&](const auto& entry) { return entry.second == &gone; });
    std::erase_if(gone.queue->events, [&](const auto& event) { return event->id == id; });
    network_.ids_.erase(id);
    return 0;
  }
  int bind_addr(rdma_cm_id*, sockaddr*) noexcept override { return 0; }
  int listen(rdma_cm_id* id, int) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    int error = 0;
    if (network_.fails(CmNetwork::Step::listen, of(id), error)) return failed(error);
    of(id).tcp_port = network_.next_port_++;
    network_.listeners_[of(id).tcp_port] = &of(id);
    return 0;
  }
  int resolve_addr(rdma_cm_id* id, sockaddr*, sockaddr* to, int) noexcept override {
    of(id).tcp_port = ntohs(reinterpret_cast<const sockaddr_in*>(to)->sin_port);
    return step(CmNetwork::Step::address, of(id), RDMA_CM_EVENT_ADDR_RESOLVED);
  }
  int resolve_route(rdma_cm_id* id, int) noexcept override {
    return step(CmNetwork::Step::route, of(id), RDMA_CM_EVENT_ROUTE_RESOLVED);
  }
  int connect(rdma_cm_id* id, rdma_conn_param* parameters) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    FakeId& from = of(id);
    int error = 0;
    if (network_.fails(CmNetwork::Step::connect, from, error)) return error == 0 ? 0 : failed(error);
    const auto listener = network_.listeners_.find(from.tcp_port);
    if (listener == network_.listeners_.end()) {
      network_.push(from, RDMA_CM_EVENT_REJECTED, nobody_listens);
      return 0;
    }
    from.here.pair = parameters->qp_num;
    const FakeId& at = *listener->second;
    FakeId& child = network_.make(*at.queue, at.device_port, at.here.ip, at.gid_index);
    from.other = &child;
    child.other = &from;
    child.there = from.here;
    std::vector<std::byte> data(private_bytes);
    std::memcpy(data.data(), parameters->private_data, parameters->private_data_len);
    network_.push(*listener->second, RDMA_CM_EVENT_CONNECT_REQUEST, 0, &child, std::move(data));
    return 0;
  }
  int accept(rdma_cm_id* id, rdma_conn_param* parameters) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    FakeId& child = of(id);
    int error = 0;
    if (network_.fails(CmNetwork::Step::accept, child, error)) return error == 0 ? 0 : failed(error);
    if (child.other == nullptr) return failed(ECONNRESET);
    child.here.pair = parameters->qp_num;
    child.other->there = child.here;
    network_.push(*child.other, RDMA_CM_EVENT_CONNECT_RESPONSE);
    return 0;
  }
  int establish(rdma_cm_id* id) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    int error = 0;
    if (network_.fails(CmNetwork::Step::establish, of(id), error)) return error == 0 ? 0 : failed(error);
    FakeId* const other = of(id).other;
    if (other == nullptr) return failed(ECONNRESET);
    of(id).established = other->established = true;
    network_.push(*other, RDMA_CM_EVENT_ESTABLISHED);
    return 0;
  }
  int reject(rdma_cm_id* id) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    if (FakeId* const from = std::exchange(of(id).other, nullptr)) {
      from->other = nullptr;
      network_.push(*from, RDMA_CM_EVENT_REJECTED, refused);
    }
    return 0;
  }
  int get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    auto& events = static_cast<FakeChannel*>(channel)->events;
    if (events.empty()) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto drained = ::read(channel->fd, &count, sizeof count);
      return failed(EAGAIN);
    }
    *event = events.front().release();
    events.pop_front();
    return 0;
  }
  int ack_cm_event(rdma_cm_event* event) noexcept override {
    const std::unique_ptr<FakeEvent> gone(static_cast<FakeEvent*>(event));
    return 0;
  }
  int init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attributes, int* mask) noexcept override {
    const CmNetwork::Guard guard(network_.mutex_);
    const FakeId& end = of(id);
    if (attributes->qp_state == IBV_QPS_RTS) {
      attributes->sq_psn = end.here.packet;
      *mask =
          IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
      return 0;
    }
    attributes->dest_qp_num = end.there.pair;
    attributes->rq_psn = end.there.packet;
    attributes->ah_attr.port_num = 1;
    attributes->ah_attr.is_global = 1;
    attributes->ah_attr.grh.sgid_index = end.gid_index;
    attributes->ah_attr.grh.hop_limit = 64;
    std::memcpy(attributes->ah_attr.grh.dgid.raw, end.there.ip.data(), end.there.ip.size());
    *mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
            IBV_QP_MIN_RNR_TIMER;
    return 0;
  }
  std::uint16_t source_port(rdma_cm_id* id) noexcept override { return of(id).tcp_port; }
  std::string port_of(rdma_cm_id* id) noexcept override { return of(id).device_port; }

 private:
  int step(CmNetwork::Step step, FakeId& id, rdma_cm_event_type success) {
    const CmNetwork::Guard guard(network_.mutex_);
    int error = 0;
    if (network_.fails(step, id, error)) return error == 0 ? 0 : failed(error);
    network_.push(id, success);
    return 0;
  }

  CmNetwork& network_;
  const std::string port_;
  const Gid ip_;
  const std::uint8_t gid_index_;
};

CmNetwork::CmNetwork() = default;
CmNetwork::~CmNetwork() = default;

CmApi& CmNetwork::process(std::string port, const Gid& ip, std::uint8_t gid_index) {
  const Guard guard(mutex_);
  return *processes_.emplace_back(std::make_unique<FakeCm>(*this, std::move(port), ip, gid_index));
}

void CmNetwork::fail(Step step, Fault fault) {
  const Guard guard(mutex_);
  faults_[step].push_back(fault);
}

std::size_t CmNetwork::faults_left() const {
  const Guard guard(mutex_);
  std::size_t left = 0;
  for (const auto& [step, faults] : faults_) left += faults.size();
  return left;
}

bool CmNetwork::fails(Step step, FakeId& id, int& error) {
  std::deque<Fault>& faults = faults_[step];
  if (faults.empty()) return false;
  const Fault fault = faults.front();
  faults.pop_front();
  error = fault.error;
  if (error == 0) push(id, fault.event, fault.status);
  return true;
}

void CmNetwork::push(FakeId& to, rdma_cm_event_type type, int status, FakeId* subject, std::vector<std::byte> data) {
  auto event = std::make_unique<FakeEvent>();
  event->id = subject != nullptr ? subject : &to;
  event->listen_id = subject != nullptr ? &to : nullptr;
  event->event = type;
  event->status = status;
  event->data = std::move(data);
  event->param.conn.private_data = event->data.data();
  event->param.conn.private_data_len = static_cast<std::uint8_t>(event->data.size());
  to.queue->events.push_back(std::move(event));
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(to.queue->fd, &one, sizeof one);
}

// The other end learns that this one is gone.
void CmNetwork::part(FakeId& id) {
  FakeId* const other = std::exchange(id.other, nullptr);
  if (other == nullptr) return;
  other->other = nullptr;
  if (other->established)
    push(*other, RDMA_CM_EVENT_DISCONNECTED);
  else
    push(*other, RDMA_CM_EVENT_REJECTED, refused);
}

FakeId& CmNetwork::make(FakeChannel& queue, const std::string& port, const Gid& ip, std::uint8_t gid_index) {
  auto made = std::make_unique<FakeId>();
  made->queue = &queue;
  made->device_port = port;
  made->gid_index = gid_index;
  made->here = {ip, 0, next_packet_++};
  FakeId& id = *made;
  ids_[made.get()] = std::move(made);
  return id;
}

void CmNetwork::disconnect() {
  const Guard guard(mutex_);
  for (const auto& [key, id] : ids_) {
    if (id->other == nullptr) continue;
    FakeId& other = *std::exchange(id->other, nullptr);
    other.other = nullptr;
    push(*id, RDMA_CM_EVENT_DISCONNECTED);
    push(other, RDMA_CM_EVENT_DISCONNECTED);
  }
}

}  // namespace godwit::verbs
