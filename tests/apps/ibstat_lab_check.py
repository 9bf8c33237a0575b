"""`godwit ibstat` on real kernel devices, in the RDMA lab: soft-RoCE on p0, soft-iWARP on p0r1."""

import json
import subprocess
import sys

from run_program import expect, run

GODWIT = sys.argv[1] + "/godwit"


def shown(**environment):
    """Adapters by the beginning of their names, and what was warned of."""
    out, _ = run([GODWIT, "ibstat", "--json"], **environment)
    found = json.loads(out)
    return {adapter["name"][:3]: adapter for adapter in found["adapters"]}, found["warnings"]


def set_link(*words):
    subprocess.run(["ip", *words], check=True)


def gid(port, index):
    return next(entry for entry in port["gids"] if entry["index"] == index)


def until(condition):
    """The kernel's tables follow the interface a moment later. Ends by the time limit of the test at the latest."""
    while not condition((seen := shown())[0]["rxe"]["ports"][0]):
        pass
    return seen


adapters, warnings = shown()
roce, iwarp = adapters["rxe"]["ports"][0], adapters["siw"]["ports"][0]
expect(not warnings, f"nothing to warn of: {warnings}")
expect(roce["state"] == "Active" and roce["physical_state"] == "LinkUp" and roce["mtu"] == 4096, f"RoCE port: {roce}")
expect(roce["protocol"] == "RoCE" and roce["used"], f"RoCE is used: {roce}")
chosen = gid(roce, roce["gid_index"])
expect(chosen["kind"] == "RoCE v2, IPv4" and chosen["net_device"] == "p0" and chosen["prefix_bits"] == 96 + 24,
       f"the GID of the IPv4 address is chosen, its subnet is known: {roce}")
expect(iwarp["protocol"] == "iWARP" and "IP address of p0r1" in iwarp["reason"], f"iWARP names its interface: {iwarp}")

out, _ = run([GODWIT, "ibstat"])
expect("CA 'rxe0'\n\tCA type:" in out and "\t\tLink layer: Ethernet\n" in out, out)
out, _ = run([GODWIT, "ibstat", "-l"])
expect(out.splitlines() == [adapters["rxe"]["name"], adapters["siw"]["name"]], out)
_, err = run([GODWIT, "ibstat"], 1, GODWIT_IB_GID_INDEX="99")
expect("no GID with such a high index" in err and chosen["gid"] in err, f"the error lists the table: {err}")
_, err = run([GODWIT, "ibstat"], 1, GODWIT_IB_HCA="rxe")
expect("matches nothing" in err and "rxe0:1" in err, f"names are exact: {err}")
hidden, _ = shown(NCCL_IB_HCA="rx")
expect(hidden["rxe"]["ports"][0]["used"] and "NCCL_IB_HCA" in hidden["siw"]["ports"][0]["reason"], f"NCCL's: {hidden}")

# The address goes: only a link-local GID is left. It comes back: so does its GID, wherever the kernel puts it.
address = chosen["gid"].removeprefix("::ffff:") + "/24"
set_link("addr", "del", address, "dev", "p0")
adapters, warnings = until(lambda port: len(port["gids"]) == 1)
roce = adapters["rxe"]["ports"][0]
expect(gid(roce, roce["gid_index"])["kind"] == "RoCE v2, link-local" and "link-local" in warnings[0], f"{roce} {warnings}")
set_link("addr", "add", address, "dev", "p0")
adapters, _ = until(lambda port: len(port["gids"]) == 2)
roce = adapters["rxe"]["ports"][0]
expect(gid(roce, roce["gid_index"])["gid"] == chosen["gid"], f"chosen by value again: {roce}")

set_link("link", "set", "p0", "mtu", "1500")
until(lambda port: port["mtu"] == 1024)
set_link("link", "set", "p0", "down")
adapters, _ = until(lambda port: port["state"] == "Down")
roce, iwarp = adapters["rxe"]["ports"][0], adapters["siw"]["ports"][0]
expect(not roce["used"] and roce["reason"].startswith("Down"), f"a port that is down is not used: {roce}")
expect(iwarp["used"], f"the other adapter is: {iwarp}")
