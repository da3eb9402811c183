package builtin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// host is an entry of [HTTP.Allow].
type host struct {
	name  string       // in lower case; "*" is every name, "*.x" every name below x
	addrs netip.Prefix // valid if the entry is an address or a range
	port  string       // empty is that of the scheme
}

// parseAllow reads the list of hosts.
func parseAllow(entries []string) ([]host, error) {
	hosts := make([]host, 0, len(entries))
	for _, entry := range entries {
		h, ok := parseHost(strings.ToLower(strings.TrimSpace(entry)))
		if !ok {
			return nil, fmt.Errorf("%q in the hosts that may be asked is neither a host, *.HOST, an address nor a range of addresses, with or without :PORT", entry)
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

func parseHost(entry string) (h host, ok bool) {
	if prefix, err := netip.ParsePrefix(entry); err == nil {
		return host{addrs: prefix}, true
	}
	if addr, err := netip.ParseAddr(strings.Trim(entry, "[]")); err == nil {
		return host{addrs: exactly(addr)}, true
	}
	if name, port, err := net.SplitHostPort(entry); err == nil {
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return h, false
		}
		entry, h.port = name, port
		if addr, err := netip.ParseAddr(name); err == nil {
			h.addrs = exactly(addr)
			return h, true
		}
	}
	h.name = strings.TrimSuffix(entry, ".")
	plain := strings.TrimPrefix(h.name, "*.")
	return h, h.name == "*" || plain != "" && !strings.ContainsAny(plain, "*/:@?# ")
}

func exactly(addr netip.Addr) netip.Prefix {
	addr = addr.Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen())
}

// admit refuses an address that is not on the list, without asking anybody.
func (f *fetcher) admit(to *url.URL) error {
	name, port := nameOf(to.Hostname()), to.Port()
	usual := port == "" || port == usualPorts[to.Scheme]
	if port == "" {
		port = usualPorts[to.Scheme]
	}
	takes := func(h host) bool { return h.name != "" && h.takesName(name) }
	if addr, err := netip.ParseAddr(name); err == nil {
		takes = func(h host) bool { return h.takesAddr(addr) }
	}
	if slices.ContainsFunc(f.hosts, func(h host) bool { return takes(h) && (h.port == port || h.port == "" && usual) }) {
		return nil
	}
	if len(f.hosts) == 0 {
		return errors.New("no host may be asked here; people allow them in the setting tools.http_get.allow")
	}
	return fmt.Errorf("%s may not be asked here; people allow hosts in the setting tools.http_get.allow", to.Host)
}

var usualPorts = map[string]string{"http": "80", "https": "443"}

func nameOf(host string) string { return strings.TrimSuffix(strings.ToLower(host), ".") }

func (h *host) takesName(name string) bool {
	below, wild := strings.CutPrefix(h.name, "*")
	return h.name == name || wild && strings.HasSuffix(name, below) && len(name) > len(below)
}

func (h *host) takesAddr(addr netip.Addr) bool {
	return h.addrs.IsValid() && addr.Zone() == "" && h.addrs.Contains(addr.Unmap())
}

// admitAddr refuses an address that a name, which was admitted, leads to.
func (f *fetcher) admitAddr(name string, addr netip.Addr, port string) error {
	listed := func(h host) bool {
		itself := h.takesAddr(addr) || h.name == "localhost" && name == h.name && addr.IsLoopback()
		return itself && (h.port == "" || h.port == port)
	}
	if public(addr) || slices.ContainsFunc(f.hosts, listed) {
		return nil
	}
	return fmt.Errorf("%s is at %s, which is not an address of the public Internet; people who mean it list that address in tools.http_get.allow too", name, addr)
}

// dial connects to a host at an address that was looked at, so that no other
// answer of a name server can take its place.
func (f *fetcher) dial(ctx context.Context, network, to string) (net.Conn, error) {
	name, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	addrs, err := f.lookup(ctx, nameOf(name), port)
	if err != nil {
		return nil, err
	}
	var dialer net.Dialer
	err = fmt.Errorf("%s has no address", name)
	for _, addr := range addrs {
		var conn net.Conn
		conn, err = dialer.DialContext(ctx, network, net.JoinHostPort(addr.String(), port))
		if err == nil || ctx.Err() != nil {
			return conn, err
		}
	}
	return nil, err
}

// lookup returns the addresses of a host. One of a name's that may not be asked
// makes all of them suspect.
func (f *fetcher) lookup(ctx context.Context, name, port string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(name); err == nil {
		return []netip.Addr{addr}, nil // it was admitted as it is
	}
	resolve := f.resolve
	if resolve == nil {
		resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	addrs, err := resolve(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if err := f.admitAddr(name, addr, port); err != nil {
			return nil, err
		}
	}
	return addrs, nil
}

// reserved are the ranges that are not of the public Internet, besides those
// that [netip.Addr] knows.
var reserved = prefixes("0.0.0.0/8 100.64.0.0/10 192.0.0.0/24 192.0.2.0/24 192.88.99.0/24 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 240.0.0.0/4 " +
	"::/96 64:ff9b::/96 64:ff9b:1::/48 100::/64 2001::/23 2001:db8::/32 2002::/16 3fff::/20 5f00::/16 fec0::/10")

func prefixes(list string) (all []netip.Prefix) {
	for text := range strings.FieldsSeq(list) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

// public reports whether an address belongs to the public Internet. Ranges
// that stand for IPv4 addresses in IPv6 do not: what they lead to is decided by
// a gateway.
func public(addr netip.Addr) bool {
	addr = addr.Unmap()
	return addr.IsGlobalUnicast() && !addr.IsPrivate() && addr.Zone() == "" &&
		!slices.ContainsFunc(reserved, func(p netip.Prefix) bool { return p.Contains(addr) })
}
