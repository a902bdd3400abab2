// SPDX-License-Identifier: Apache-2.0

package service_test

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"example.org/app/internal/apierr"
	"example.org/app/internal/config"
	"example.org/app/internal/store"
	"example.org/app/internal/wire"
)

func TestUserProfiles(t *testing.T) {
	c := newCircle(t)
	if _, err := c.Users.Delete(t.Context(), []int64{3}, new(true)); err != nil {
		t.Fatal(err)
	}
	before := c.Now.UnixMilli()
	c.advance(time.Second)
	c.want(apierr.OK, 2, &wire.UpdateUserRequest{Name: proto.String("two"), ProfilePicture: proto.String("pic"), Password: proto.String("secret")})
	two := &wire.UserInfo{
		Id: proto.Int64(2), Name: proto.String("two"), Intro: proto.String(""), ProfilePicture: proto.String("pic"),
		ProfileAccessStrategy: wire.ProfileAccessStrategy_ALL.Enum(), RegistrationDate: &before, LastUpdatedDate: proto.Int64(c.Now.UnixMilli()), Active: proto.Bool(true),
	}
	for name, test := range map[string]struct {
		request *wire.QueryUserProfilesRequest
		want    []int64
	}{
		"some":       {&wire.QueryUserProfilesRequest{UserIds: []int64{2, 3, 9, 1}, Name: proto.String(" ")}, []int64{1, 2}},
		"changed":    {&wire.QueryUserProfilesRequest{UserIds: []int64{1, 2, 3}, LastUpdatedDate: &before}, []int64{2}},
		"up to date": {&wire.QueryUserProfilesRequest{UserIds: []int64{2}, LastUpdatedDate: two.LastUpdatedDate}, nil},
		"nobody":     {&wire.QueryUserProfilesRequest{}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			data := c.want(apierr.OK, 1, test.request).Data.GetUserInfosWithVersion()
			if data == nil || data.LastUpdatedDate != nil {
				t.Fatalf("the answer is %v", data)
			}
			var ids []int64
			for _, info := range data.GetUserInfos() {
				ids = append(ids, info.GetId())
				if info.GetId() == 2 && !proto.Equal(info, two) {
					t.Errorf("the user is %v, want %v", info, two)
				}
			}
			if !slices.Equal(ids, test.want) {
				t.Errorf("the users are %v, want %v", ids, test.want)
			}
		})
	}
	c.want(apierr.SearchingUserIsDisabled, 1, &wire.QueryUserProfilesRequest{Name: proto.String("tw")})
}

func TestUpdateUser(t *testing.T) {
	c := newCircle(t)
	c.Relate(1, 2, false)
	c.Relate(1, 3, true) // Blocked users are not notified.
	for _, setting := range allowed() {
		attribute := config.AllowedAttribute{SourceName: setting.SourceName, Immutable: setting.Immutable, Value: setting.Value}
		attributes := &c.Rules.User.Info.UserDefinedAttributes
		attributes.AllowedAttributes = append(attributes.AllowedAttributes, attribute)
	}
	flags, n := &c.Rules.Notification.UserInfoUpdated, 0
	for _, change := range []func() *wire.UpdateUserRequest{
		func() *wire.UpdateUserRequest {
			return &wire.UpdateUserRequest{Name: proto.String(strings.Repeat("n", n)), Password: proto.String("secret")}
		},
		func() *wire.UpdateUserRequest {
			return &wire.UpdateUserRequest{Intro: proto.String(strings.Repeat("n", n))}
		},
		func() *wire.UpdateUserRequest {
			return &wire.UpdateUserRequest{ProfilePicture: proto.String(strings.Repeat("n", n))}
		},
	} {
		c.switched(&flags.NotifyRequesterOtherOnlineSessions, &flags.NotifyNonBlockedRelatedUsers, func() (proto.Message, proto.Message) {
			n++
			request := change()
			relay := proto.CloneOf(request)
			relay.Password = nil
			return request, relay
		}, c.second)
	}
	// Others are not notified of what they cannot see.
	flags.NotifyRequesterOtherOnlineSessions, flags.NotifyNonBlockedRelatedUsers = true, true
	hidden := &wire.UpdateUserRequest{Password: proto.String("other"), ProfileAccessStrategy: wire.ProfileAccessStrategy_FRIENDS.Enum()}
	c.want(apierr.OK, 1, hidden)
	c.wantNotified(1, &wire.UpdateUserRequest{ProfileAccessStrategy: wire.ProfileAccessStrategy_FRIENDS.Enum()}, c.phone)
	c.quiet(&wire.UpdateUserRequest{})
	c.quiet(&wire.UpdateUserRequest{ProfileAccessStrategy: wire.ProfileAccessStrategy_FRIENDS.Enum()})
	c.want(apierr.OK, 1, &wire.UpdateUserRequest{UserDefinedAttributes: map[string]*wire.Value{"int": whole(1), "string": text("abc")}})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateUserRequest{UserDefinedAttributes: map[string]*wire.Value{"int": whole(2)}})
	infos := c.want(apierr.OK, 2, &wire.QueryUserProfilesRequest{UserIds: []int64{1}}).Data.GetUserInfosWithVersion().GetUserInfos()
	if got := infos[0].GetUserDefinedAttributes(); len(got) != 2 || got["int"].GetInt32Value() != 1 || got["string"].GetStringValue() != "abc" {
		t.Errorf("the attributes are %v", got)
	}
	// An absent strategy stays unchanged.
	c.want(apierr.OK, 1, &wire.UpdateUserRequest{Name: proto.String("last")})
	found, err := c.Users.Find(t.Context(), store.UserFilter{IDs: []int64{1}}, 0, 0)
	if err != nil || found[0].ProfileAccessStrategy != store.ProfileForFriends || found[0].Name != "last" {
		t.Errorf("the user is %+v: %v", found, err)
	}
	c.forget()
	for name, request := range map[string]*wire.UpdateUserRequest{
		"password": {Password: proto.String(strings.Repeat("x", 17))},
		"name":     {Name: proto.String(strings.Repeat("x", 21))},
		"intro":    {Intro: proto.String(strings.Repeat("x", 101))},
		"picture":  {ProfilePicture: proto.String(strings.Repeat("x", 101))},
		"strategy": {ProfileAccessStrategy: wire.ProfileAccessStrategy(9).Enum()},
		"unknown":  {UserDefinedAttributes: map[string]*wire.Value{"none": whole(1)}},
		"too long": {UserDefinedAttributes: map[string]*wire.Value{"string": text("123456")}},
	} {
		t.Run(name, func(t *testing.T) { c.want(apierr.IllegalArgument, 1, request) })
	}
	c.want(apierr.UpdateInfoOfNonexistentUser, 99, &wire.UpdateUserRequest{Name: proto.String("x")})
	c.wantNotified(1, nil)
}

// allowed are settings of every type; the first is immutable, the last cannot be removed.
func allowed() []config.AllowedSetting {
	var list []config.AllowedSetting
	limits := config.ValueLimits{
		IntValue: config.IntValueRule{Max: 10}, LongValue: config.LongValueRule{Max: math.MaxInt64}, DoubleValue: config.DoubleValueRule{Max: 10},
		StringValue: config.StringValueRule{MaxLength: 5},
	}
	for _, typ := range []string{"INT", "LONG", "DOUBLE", "BOOL", "STRING", "LANGUAGE", "ARRAY"} {
		list = append(list, config.AllowedSetting{
			SourceName: strings.ToLower(typ), Deletable: typ != "ARRAY", Immutable: typ == "INT",
			Value: config.ValueRule{Type: typ, ValueLimits: limits, ArrayValue: config.ArrayValueRule{
				MaxElementCount: 2, AllowNullElement: true, Element: config.ElementRule{Type: "LONG", ValueLimits: limits},
			}},
		})
	}
	return list
}

func text(s string) *wire.Value {
	return &wire.Value{Kind: &wire.Value_StringValue{StringValue: s}}
}

func whole(n int64) *wire.Value { return &wire.Value{Kind: &wire.Value_Int64Value{Int64Value: n}} }

func TestUserSettings(t *testing.T) {
	c := newCircle(t)
	rules := &c.Rules.User.Settings
	c.want(apierr.IllegalArgument, 1, &wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"string": text("a")}})
	rules.AllowedSettings = allowed()
	c.want(apierr.NoContent, 1, &wire.QueryUserSettingsRequest{})

	all := map[string]*wire.Value{
		"int":  {Kind: &wire.Value_Int32Value{Int32Value: 5}},
		"long": whole(math.MaxInt64), "double": {Kind: &wire.Value_DoubleValue{DoubleValue: 2}}, "bool": {Kind: &wire.Value_BoolValue{BoolValue: false}},
		"string": text("dark"), "language": text("zh-Hans"), "array": {ListValue: []*wire.Value{whole(1), {}}},
	}
	set := &wire.UpdateUserSettingsRequest{Settings: all}
	c.want(apierr.OK, 1, set)
	c.wantNotified(1, set, c.phone)
	data := c.want(apierr.OK, 1, &wire.QueryUserSettingsRequest{}).Data.GetUserSettings()
	if want := (&wire.UserSettings{Settings: all, LastUpdatedDate: proto.Int64(c.Now.UnixMilli())}); !proto.Equal(data, want) {
		t.Errorf("the settings are %v, want %v", data, want)
	}
	c.want(apierr.NoContent, 2, &wire.QueryUserSettingsRequest{})
	got := c.want(apierr.OK, 1, &wire.QueryUserSettingsRequest{Names: []string{"bool", "none"}, LastUpdatedDateStart: data.LastUpdatedDate}).Data.GetUserSettings()
	if names := slices.Collect(maps.Keys(got.GetSettings())); !slices.Equal(names, []string{"bool"}) {
		t.Errorf("found %v", got)
	}
	c.want(apierr.NoContent, 1, &wire.QueryUserSettingsRequest{Names: []string{"none"}})
	c.want(apierr.NoContent, 1, &wire.QueryUserSettingsRequest{LastUpdatedDateStart: proto.Int64(c.Now.UnixMilli() + 1)})

	for name, v := range map[string]*wire.Value{
		"int": whole(6), "long": text("1"), "double": {Kind: &wire.Value_FloatValue{FloatValue: 11}}, "bool": whole(1), "string": text("123456"),
		"language": text("tlhxx"), "array": {ListValue: []*wire.Value{whole(1), whole(2), whole(3)}}, "none": whole(1),
	} {
		t.Run(name, func(t *testing.T) {
			c.want(apierr.IllegalArgument, 1, &wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"string": text("x"), name: v}})
		})
	}
	c.want(apierr.IllegalArgument, 1, &wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"string": {Kind: &wire.Value_BytesValue{BytesValue: []byte("x")}}}})
	c.quiet(&wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"string": text("dark")}})
	rules.IgnoreUnknownSettingsOnUpsert = true
	c.quiet(&wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"none": whole(1)}})

	n := int64(0)
	c.switched(&c.Rules.Notification.UserSettingUpdated.NotifyRequesterOtherOnlineSessions, nil, func() (proto.Message, proto.Message) {
		n++
		return &wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"long": whole(n)}}, nil
	})
	c.switched(&c.Rules.Notification.UserSettingDeleted.NotifyRequesterOtherOnlineSessions, nil, func() (proto.Message, proto.Message) {
		c.want(apierr.OK, 1, &wire.UpdateUserSettingsRequest{Settings: map[string]*wire.Value{"long": whole(1)}})
		return &wire.DeleteUserSettingsRequest{Names: []string{"long"}}, nil
	})
	c.want(apierr.IllegalArgument, 1, &wire.DeleteUserSettingsRequest{Names: []string{"string", "array"}})
	c.want(apierr.IllegalArgument, 1, &wire.DeleteUserSettingsRequest{Names: []string{"string", "none"}})
	rules.IgnoreUnknownSettingsOnDelete = true
	c.quiet(&wire.DeleteUserSettingsRequest{Names: []string{"none"}})
	c.want(apierr.OK, 1, &wire.DeleteUserSettingsRequest{})
	left := c.want(apierr.OK, 1, &wire.QueryUserSettingsRequest{}).Data.GetUserSettings().GetSettings()
	if len(left) != 1 || !proto.Equal(left["array"], all["array"]) {
		t.Errorf("left is %v", left)
	}
}

func TestConversationSettings(t *testing.T) {
	c := newCircle(t)
	c.Rules.Conversation.Settings.AllowedSettings = allowed()
	c.Relate(1, 2, false)
	group := c.Group(2, 1)
	set := func(n int64) map[string]*wire.Value { return map[string]*wire.Value{"long": whole(n)} }
	user := proto.Int64(2)

	empty := c.want(apierr.OK, 1, &wire.QueryConversationSettingsRequest{}).Data
	if empty.GetConversationSettingsList() == nil || len(empty.GetConversationSettingsList().GetConversationSettingsList()) != 0 {
		t.Errorf("nothing is %v", empty)
	}
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationSettingsRequest{Settings: set(1)})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationSettingsRequest{UserId: user, GroupId: &group, Settings: set(1)})
	c.want(apierr.IllegalArgument, 1, &wire.UpdateConversationSettingsRequest{UserId: user, Settings: map[string]*wire.Value{"none": whole(1)}})
	c.want(apierr.NotRelatedUserToUpdatePrivateConversationSetting, 1, &wire.UpdateConversationSettingsRequest{UserId: proto.Int64(3), Settings: set(1)})
	c.want(apierr.NotGroupMemberToUpdateGroupConversationSetting, 3, &wire.UpdateConversationSettingsRequest{GroupId: &group, Settings: set(1)})

	flags, n := &c.Rules.Notification, int64(0)
	c.switched(&flags.PrivateConversationSettingUpdated.NotifyRequesterOtherOnlineSessions, nil, func() (proto.Message, proto.Message) {
		n++
		return &wire.UpdateConversationSettingsRequest{UserId: user, Settings: set(n)}, nil
	})
	c.switched(&flags.GroupConversationSettingUpdated.NotifyRequesterOtherOnlineSessions, nil, func() (proto.Message, proto.Message) {
		n++
		return &wire.UpdateConversationSettingsRequest{GroupId: &group, Settings: set(n)}, nil
	})
	c.quiet(&wire.UpdateConversationSettingsRequest{GroupId: &group, Settings: set(n)})

	private := &wire.ConversationSettings{UserId: user, Settings: set(2), LastUpdatedDate: proto.Int64(c.Now.UnixMilli())}
	grouped := &wire.ConversationSettings{GroupId: &group, Settings: set(4), LastUpdatedDate: proto.Int64(c.Now.UnixMilli())}
	for name, test := range map[string]struct {
		request *wire.QueryConversationSettingsRequest
		want    []*wire.ConversationSettings
	}{
		"all":    {&wire.QueryConversationSettingsRequest{}, []*wire.ConversationSettings{private, grouped}},
		"users":  {&wire.QueryConversationSettingsRequest{UserIds: []int64{2, 3}}, []*wire.ConversationSettings{private}},
		"groups": {&wire.QueryConversationSettingsRequest{GroupIds: []int64{group}}, []*wire.ConversationSettings{grouped}},
		"both":   {&wire.QueryConversationSettingsRequest{UserIds: []int64{2}, GroupIds: []int64{group}, Names: []string{"long"}}, []*wire.ConversationSettings{private, grouped}},
		"names":  {&wire.QueryConversationSettingsRequest{Names: []string{"int"}}, nil},
		"since":  {&wire.QueryConversationSettingsRequest{LastUpdatedDateStart: private.LastUpdatedDate}, []*wire.ConversationSettings{private, grouped}},
		"later":  {&wire.QueryConversationSettingsRequest{LastUpdatedDateStart: proto.Int64(c.Now.UnixMilli() + 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.want(apierr.OK, 1, test.request).Data.GetConversationSettingsList()
			if want := (&wire.ConversationSettingsList{ConversationSettingsList: test.want}); got == nil || !proto.Equal(got, want) {
				t.Errorf("the settings are %v, want %v", got, want)
			}
		})
	}

	c.want(apierr.IllegalArgument, 1, &wire.DeleteConversationSettingsRequest{Names: []string{"none"}})
	c.want(apierr.IllegalArgument, 1, &wire.DeleteConversationSettingsRequest{Names: []string{"array"}})
	restore := func() {
		c.want(apierr.OK, 1, &wire.UpdateConversationSettingsRequest{UserId: user, Settings: set(2)})
		c.want(apierr.OK, 1, &wire.UpdateConversationSettingsRequest{GroupId: &group, Settings: set(4)})
	}
	privateFlag := &flags.PrivateConversationSettingDeleted.NotifyRequesterOtherOnlineSessions
	groupFlag := &flags.GroupConversationSettingDeleted.NotifyRequesterOtherOnlineSessions
	*groupFlag = false
	c.switched(privateFlag, nil, func() (proto.Message, proto.Message) {
		restore()
		return &wire.DeleteConversationSettingsRequest{UserIds: []int64{2}, Names: []string{"long"}}, nil
	})
	*privateFlag = false
	c.switched(groupFlag, nil, func() (proto.Message, proto.Message) {
		restore()
		return &wire.DeleteConversationSettingsRequest{GroupIds: []int64{group}}, nil
	})
	restore()
	c.want(apierr.OK, 1, &wire.DeleteConversationSettingsRequest{})
	*privateFlag, *groupFlag = true, true
	c.forget()
	c.quiet(&wire.DeleteConversationSettingsRequest{})
}
