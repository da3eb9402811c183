// Package service is what the packages of providers share that ask a model over
// HTTP: what a refusal or a broken connection means, how long a silent server
// is waited for, and how pieces of answers become parts of a message.
package service
